"""Log records in SGLang's form, one os.write each, so that lines of several processes never mix."""

from __future__ import annotations

import logging
import os
import sys
import traceback

_OUTPUT = 2  # SGLang logs to stderr; a unit sends both streams to the same journal


class _Handler(logging.Handler):
    """Whole records to stderr, past Python's buffers."""

    def emit(self, record: logging.LogRecord) -> None:
        write(f"{self.format(record)}\n")


_handler = _Handler()
_logger = logging.getLogger("sglang")
_logger.addHandler(_handler)
_logger.setLevel(logging.INFO)
_logger.propagate = False


def set_rank_prefix(prefix: str) -> None:
    """Put e.g. ` TP1` behind the date of this process's lines; SGLang does so only with several ranks."""
    _handler.setFormatter(logging.Formatter(f"[%(asctime)s{prefix}] %(message)s", "%Y-%m-%d %H:%M:%S"))


set_rank_prefix("")


def write(text: str) -> None:
    """Write text as it is."""
    data = text.encode("utf-8", "backslashreplace")
    while data:
        data = data[os.write(_OUTPUT, data) :]


def log(message: str) -> None:
    """One record: `[2026-11-29 18:36:34 TP0] message`; further lines of the message have no prefix."""
    _logger.info(message)


def exception_text() -> str:
    """The exception being handled, as logging's `{get_exception_traceback()}` shows it, ending with a newline."""
    kind, value, trace = sys.exc_info()
    return "".join(traceback.format_exception(kind, value, trace))
