"""What the launcher tells systemd of a load: `STATUS=<segment> <percent>% eta <seconds>s` (sglang_ddtree/loading.py)."""

from __future__ import annotations

import re
from dataclasses import dataclass

_STATUS = re.compile(r"^(?P<segment>[a-z_]+)(?: (?P<percent>[0-9]{1,3})%)?(?: eta (?P<eta>[0-9]{1,9})s)?$")


@dataclass(frozen=True, slots=True)
class Told:
    """`percent` of the segment (0-100) and `eta` of the whole load in seconds are None where the launcher doesn't know."""

    segment: str
    percent: int | None
    eta: int | None


def parse(text: str) -> Told | None:
    """None for a text of another form: of another launcher, or an end (`crashed: ...`)."""
    match = _STATUS.match(text)
    if match is None:
        return None
    percent, eta = match["percent"], match["eta"]
    return Told(match["segment"], int(percent) if percent else None, int(eta) if eta else None)
