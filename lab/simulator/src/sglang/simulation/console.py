"""Log lines in SGLang's form, one os.write each, so that lines of several processes never mix."""

from __future__ import annotations

import os
import sys
import time
import traceback

_OUTPUT = 2  # SGLang logs to stderr; a unit sends both streams to the same journal
_prefix = ""


def set_rank_prefix(prefix: str) -> None:
    """Put e.g. ` TP1` behind the date of this process's lines; SGLang does so only with several ranks."""
    global _prefix  # noqa: PLW0603 - one prefix per process, as SGLang's own logging configuration
    _prefix = prefix


def write(text: str) -> None:
    """Write text as it is."""
    data = text.encode("utf-8", "backslashreplace")
    while data:
        data = data[os.write(_OUTPUT, data) :]


def log(message: str) -> None:
    """One record: `[2026-11-29 18:36:34 TP0] message`; further lines of the message have no prefix."""
    write(f"[{time.strftime('%Y-%m-%d %H:%M:%S')}{_prefix}] {message}\n")


def exception_text() -> str:
    """The exception being handled, as logging's `{get_exception_traceback()}` shows it, ending with a newline."""
    kind, value, trace = sys.exc_info()
    return "".join(traceback.format_exception(kind, value, trace))
