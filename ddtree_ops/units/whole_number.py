"""Whole numbers in the text of a host or a server, which may be damaged, or lie."""

from __future__ import annotations

MOST = 2**63 - 1  # systemd, the kernel and nvidia-smi count with 64 bits at most
MOST_PORT = 65535


def whole_number(text: str | None, most: int = MOST) -> int | None:
    """The number from 0 to `most` that the text is, in decimal digits of ASCII; None for anything else.

    str.isdigit() is also true of `²`, which int() refuses, as it does more than 4300 digits.
    """
    if text is None or len(text) > len(str(most)) or not (text.isascii() and text.isdigit()):
        return None
    number = int(text)
    return number if number <= most else None
