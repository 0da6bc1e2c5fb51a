"""The matrix as data: which faults, at which steps, and what has to come of each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Step(StrEnum):
    """A step of the deploy, in order; STEP_NAMES says how the deploy itself calls them."""

    CHECKING = "checking"
    STAGING = "staging"
    SWITCHING = "switching"
    WAITING = "waiting"
    SMOKING = "smoking"
    COMMITTING = "committing"


STEP_NAMES = {
    Step.CHECKING: ("look",),
    Step.STAGING: ("stage",),
    Step.SWITCHING: ("switch",),
    Step.WAITING: ("wait",),
    Step.SMOKING: ("smoke",),
    Step.COMMITTING: ("commit",),
}


class Fault(StrEnum):
    """What happens; the text is how the table calls it."""

    KILLED = "controller kill -9"
    INTERRUPTED = "Ctrl-C"
    DROPPED = "connection dropped"
    CUT_SHORT = "network silent 5 s"
    CUT = "network silent for good"
    POWER_CUT = "power cut"
    REBOOT = "reboot"
    FROZEN_SHORT = "host frozen 5 s"
    FROZEN = "host frozen for good"
    RELEASES_FULL = "disk of releases full"
    STATE_FULL = "disk of state full"
    UNIT_KILLED = "unit kill -9"


@dataclass(frozen=True)
class Case:
    """One field of the matrix.

    `codes`: how the command may end. `says`: a regular expression that its message has to hold, where it isn't 0 or killed.
    `in_ci`: part of the quick selection.
    """

    step: Step
    fault: Fault
    codes: frozenset[int]
    says: str = ""
    in_ci: bool = False

    @property
    def id(self) -> str:
        return f"{self.step}-{self.fault.name.lower()}"


SIGKILLED = -9
FINE, FAILED, UNREACHABLE, DIED, TIMED_OUT, REFUSED, ROLLED_BACK, INTERRUPTED = 0, 1, 3, 4, 5, 7, 8, 130
LOST = r"connection|reach|answer|no end after|did not end in"
FULL = r"[Nn]o space left|is full|MiB free"
# The new server is killed: what serves afterwards is the former release.
OVER = frozenset({ROLLED_BACK})

# How each fault may end, whatever the step; the exceptions stand below. 0 where the deploy outlives the fault.
_CODES: dict[Fault, tuple[frozenset[int], str]] = {
    Fault.KILLED: (frozenset({SIGKILLED}), ""),
    Fault.INTERRUPTED: (frozenset({INTERRUPTED}), "interrupted"),
    Fault.DROPPED: (frozenset({FINE, UNREACHABLE}), LOST),
    Fault.CUT_SHORT: (frozenset({FINE}), LOST),
    Fault.CUT: (frozenset({UNREACHABLE}), LOST),
    Fault.POWER_CUT: (frozenset({UNREACHABLE}), LOST),
    Fault.REBOOT: (frozenset({FINE, UNREACHABLE, DIED, ROLLED_BACK}), f"{LOST}|died|stop"),
    Fault.FROZEN_SHORT: (frozenset({FINE}), LOST),
    Fault.FROZEN: (frozenset({UNREACHABLE}), LOST),
    Fault.RELEASES_FULL: (frozenset({FAILED}), FULL),
    Fault.STATE_FULL: (frozenset({FAILED}), FULL),
    Fault.UNIT_KILLED: (frozenset({FINE}), ""),
}
_EXCEPTIONS: dict[tuple[Step, Fault], tuple[frozenset[int], str]] = {
    # Preflight sees it.
    (Step.CHECKING, Fault.RELEASES_FULL): (frozenset({FAILED, REFUSED}), FULL),
    # The host's part of staging goes on while the disk fills, and needs little but hard links: it may be quicker.
    (Step.STAGING, Fault.RELEASES_FULL): (frozenset({FINE, FAILED}), FULL),
    # A link and a unit file need no space to speak of; a deploy may get through.
    (Step.SWITCHING, Fault.RELEASES_FULL): (frozenset({FINE, FAILED, ROLLED_BACK}), FULL),
    (Step.WAITING, Fault.RELEASES_FULL): (frozenset({FINE, FAILED, ROLLED_BACK}), FULL),
    (Step.SMOKING, Fault.RELEASES_FULL): (frozenset({FINE, FAILED, ROLLED_BACK}), FULL),
    (Step.COMMITTING, Fault.RELEASES_FULL): (frozenset({FINE, FAILED, ROLLED_BACK}), FULL),
    # Nothing is written there before the commit but the lock and the load's history, which may be missing.
    (Step.CHECKING, Fault.STATE_FULL): (frozenset({FAILED, REFUSED, ROLLED_BACK}), FULL),
    (Step.STAGING, Fault.STATE_FULL): (frozenset({FAILED, ROLLED_BACK}), FULL),
    (Step.SWITCHING, Fault.STATE_FULL): (frozenset({FAILED, ROLLED_BACK}), FULL),
    (Step.WAITING, Fault.STATE_FULL): (frozenset({FAILED, ROLLED_BACK}), FULL),
    (Step.SMOKING, Fault.STATE_FULL): (frozenset({FAILED, ROLLED_BACK}), FULL),
    (Step.COMMITTING, Fault.STATE_FULL): (frozenset({FINE, FAILED, ROLLED_BACK}), FULL),
    # Nothing moves any more, as far as one can see from here.
    (Step.WAITING, Fault.FROZEN): (frozenset({UNREACHABLE, TIMED_OUT}), LOST),
    (Step.WAITING, Fault.CUT): (frozenset({UNREACHABLE, TIMED_OUT}), LOST),
    (Step.WAITING, Fault.UNIT_KILLED): (OVER, "died"),
    (Step.SMOKING, Fault.UNIT_KILLED): (OVER, "died|smoke"),
    # It has answered rightly by then; systemd brings it back.
    (Step.COMMITTING, Fault.UNIT_KILLED): (frozenset({FINE, ROLLED_BACK}), ""),
}
_IN_CI = frozenset(
    {
        (Step.STAGING, Fault.KILLED),
        (Step.WAITING, Fault.INTERRUPTED),
        (Step.COMMITTING, Fault.KILLED),
        (Step.STAGING, Fault.DROPPED),
        (Step.WAITING, Fault.REBOOT),
        (Step.SWITCHING, Fault.POWER_CUT),
        (Step.SMOKING, Fault.FROZEN_SHORT),
        (Step.COMMITTING, Fault.STATE_FULL),
        (Step.WAITING, Fault.UNIT_KILLED),
    }
)


def case(step: Step, fault: Fault) -> Case:
    codes, says = _EXCEPTIONS.get((step, fault)) or _CODES[fault]
    return Case(step, fault, codes, says, (step, fault) in _IN_CI)


CASES = tuple(case(step, fault) for fault in Fault for step in Step)
