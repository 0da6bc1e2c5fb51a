"""Characters that a terminal would obey instead of showing."""

from __future__ import annotations

import re

# ECMA-48: CSI sequences, OSC/DCS/PM/APC/SOS strings up to BEL or ST, other two-character escapes.
ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)|[ -/]*[0-~])|\x9b[0-?]*[ -/]*[@-~]")
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """Text without terminal control sequences, control characters (tab stays) and characters that change direction."""
    return CONTROLS.sub("", ESCAPES.sub("", text))
