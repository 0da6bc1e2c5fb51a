"""What went wrong inside, by type and place: an error's own text may quote what a client sent."""

from __future__ import annotations

import asyncio
import logging
import os

from ddtree_ops.exporter import log


def tell(error: BaseException) -> None:
    """One line on stderr."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    number = error.errno if isinstance(error, OSError) else None
    reason = f" ({os.strerror(number)})" if number and number > 0 else ""
    place = f" in {trace.tb_frame.f_code.co_name}, line {trace.tb_lineno}" if trace else ""
    log.line(f"a handler failed: {type(error).__name__}{reason}{place}")


class _Told(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not isinstance(error, asyncio.CancelledError):
            tell(error)


def quiet_logs() -> None:
    """Of Tornado's and asyncio's logs only errors are told, in the same way: what clients do wrong is no news."""
    for name in ("tornado", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [_Told(logging.ERROR)], False
