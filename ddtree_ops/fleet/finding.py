"""A finding: something that speaks against a deploy, or that is worth knowing before one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

#: What can't be waived, and why: it was seen on the host itself, so a waiver would only move the failure to a later step. What is
#: concluded from source can be: whoever wrote that source may know better than a reader of it.
NO_WAIVERS: Mapping[str, str] = {
    "python": "no release can be staged without that Python",
    "systemd": "the unit can't run",
    "port": "the server couldn't listen",
    "model": "the model can't be loaded",
    "preflight": "what the look would have seen isn't known",
}


class Severity(StrEnum):
    """An error refuses the deploy; a warning is shown; a note is only for those who ask (--verbose, JSON)."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Waiver:
    """Why a finding doesn't count, and the last day on which it doesn't."""

    reason: str
    until: date


@dataclass(frozen=True)
class Finding:
    """Something that a deploy would run into; `fix` is what to do.

    `evidence`: commands or files, each with its telling line. `waived`: by the spec, so it is shown and refuses nothing.
    """

    id: str
    severity: Severity
    message: str
    fix: str
    evidence: tuple[str, ...] = ()
    waived: Waiver | None = None

    def as_data(self) -> dict[str, Any]:
        """For JSON; the day of a waiver as `2026-12-31`."""
        waived = self.waived and {"reason": self.waived.reason, "until": self.waived.until.isoformat()}
        return {
            "id": self.id,
            "severity": str(self.severity),
            "message": self.message,
            "fix": self.fix,
            "evidence": list(self.evidence),
            "waived": waived,
        }

    @property
    def refuses(self) -> bool:
        """Whether it stops a deploy."""
        return self.severity is Severity.ERROR and self.waived is None
