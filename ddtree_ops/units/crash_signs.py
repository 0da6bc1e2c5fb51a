"""Seeing in the log that the server has crashed, up to a minute before it admits it by exiting.

After an exception in a rank, SGLang's main process sleeps, tries py-spy, and may wait 60 s for CUDA core dumps. Only
the beginning of a log record counts: a prompt that is printed inside of one can't pretend to be a crash.

This file has no dependencies: it is shipped in the wheel `sglang-ddtree` as well.
"""

from __future__ import annotations

import re

from .log_lines import split_message

_SIGNS = re.compile(r"\w+ hit an exception: |SIGQUIT received\. |Received sigquit from a child process")
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|OutOfResources)\b(?:: .*)?$")
_EXCEPTION_LENGTH = 1000


class CrashWatch:
    """Reads the log for one crash. `at` is when the first sign was seen, None before."""

    def __init__(self) -> None:
        self.at: float | None = None
        self._pid = 0
        self._sign = ""
        self._exception = ""

    @property
    def reason(self) -> str:
        """What crashed: the exception's own last line if it was seen, else the sign; empty without a crash."""
        return self._exception or self._sign

    def feed(self, pid: int, message: str, at: float) -> None:
        """Take one journal message of process `pid`."""
        if self.at is not None:
            self._read_traceback(pid, message)
            return
        for line in split_message(message):
            if _SIGNS.match(line.text):
                self.at, self._pid, self._sign = at, pid, line.text.split(": ")[0]

    def _read_traceback(self, pid: int, message: str) -> None:
        # the first block of the rank that failed first; a chained exception's last line overwrites its cause's
        if pid == self._pid and _EXCEPTION.match(message[:_EXCEPTION_LENGTH]):
            self._exception = message
