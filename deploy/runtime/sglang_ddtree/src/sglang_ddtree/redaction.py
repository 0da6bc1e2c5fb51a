"""Keeping secrets out of the log: SGLang prints all its arguments, API key included, when it starts."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Sequence
from typing import Any

REPLACEMENT = "[redacted]"
_SHORTEST = 4  # replacing every "a" would hide the log, not the secret


def redact(text: str, secrets: Sequence[str]) -> str:
    """The text with every secret replaced, the longest first."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, REPLACEMENT)
    return text


def install(secrets: Sequence[str]) -> None:
    """From now on every log record of this process is redacted before any handler sees it."""
    wanted = tuple(secret for secret in secrets if len(secret) >= _SHORTEST)
    if not wanted:
        return
    # as SGLang's f"{server_args=}" writes it
    spelled = (*wanted, *(repr(secret)[1:-1] for secret in wanted if repr(secret)[1:-1] != secret))
    former = logging.getLogRecordFactory()

    def factory(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = former(*args, **kwargs)
        _redact_record(record, spelled)
        return record

    logging.setLogRecordFactory(factory)


def _redact_record(record: logging.LogRecord, secrets: Sequence[str]) -> None:
    try:
        message = record.getMessage()
    except (TypeError, ValueError, KeyError):
        return  # logging itself reports arguments that don't fit
    clean = redact(message, secrets)
    if clean != message:
        record.msg, record.args = clean, ()
    if record.exc_info and record.exc_info[0] is not None:
        text = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
        if (clean_text := redact(text, secrets)) != text:
            record.exc_text = clean_text  # logging.Formatter prints this instead of exc_info
