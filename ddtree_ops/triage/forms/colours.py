"""Colours before or within a line's header: docker-compose paints names, `dmesg --color=always` times."""

from __future__ import annotations

import re

_COLOUR = re.compile(r"\x1b\[[\d;]{0,20}m")


def uncoloured(text: str) -> str:
    """The text without colours (SGR sequences)."""
    return _COLOUR.sub("", text)


def painted_width(text: str, width: int) -> int:
    """Where in a coloured text its first `width` visible characters end; colours right behind them count as theirs."""
    seen = end = 0
    for found in _COLOUR.finditer(text):
        if seen + found.start() - end > width:
            break
        seen += found.start() - end
        end = found.end()
    return end + width - seen
