"""Faults that a run can be asked for with SIM_FAULT, a comma-separated list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

PHASES = ("arguments", "distributed_init", "weights", "kv_cache", "graph_capture", "warmup", "serving")


class SettingsError(ValueError):
    """A setting that can't be used; the message is one line."""


@dataclass(frozen=True)
class Fault:
    """One fault. `phase` says when, `rank` who (None: every rank), `amount` how much.

    The amount is seconds for slow_drain, a factor for slow_start, percent for low_acceptance, the number of a token for
    other_answers, and for a fault of phase serving the number of the request, counted from the server's own warm-up on, whose
    decoding it hits.
    """

    name: str
    phase: str | None = None
    rank: int | None = None
    amount: float = 0.0


def parse_faults(text: str) -> tuple[Fault, ...]:
    """Read SIM_FAULT. Raises SettingsError for an unknown fault, phase, rank or number."""
    faults = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, *arguments = item.split(":")
        reader = _READERS.get(name)
        if reader is None:
            raise SettingsError(f"SIM_FAULT: unknown fault {name!r}; known are {', '.join(_READERS)}")
        faults.append(reader(name, arguments))
    return tuple(faults)


def _at_phase(name: str, arguments: list[str]) -> Fault:
    if not arguments or arguments[0] not in PHASES:
        raise SettingsError(f"SIM_FAULT: {name} needs a phase, {name}:PHASE with one of {', '.join(PHASES)}")
    counted = arguments[0] == "serving" and len(arguments) == 2 and arguments[1].isdigit()
    if len(arguments) != 1 and not counted:
        raise SettingsError(f"SIM_FAULT: {name}:{arguments[0]} takes no further argument; only serving takes :NUMBER")
    return Fault(name, phase=arguments[0], amount=float(arguments[1]) if counted else 1.0)


def _graph_width(name: str, arguments: list[str]) -> Fault:
    when = arguments[0] if arguments else "warmup"
    if len(arguments) > 1 or when not in ("warmup", "request"):
        raise SettingsError(f"SIM_FAULT: {name} takes :warmup or :request")
    return Fault(name, phase=when)


def _at_rank(name: str, arguments: list[str]) -> Fault:
    if len(arguments) not in (1, 2) or not arguments[0].isdigit() or (arguments[1:] and arguments[1] not in PHASES):
        raise SettingsError(f"SIM_FAULT: {name} needs a rank, {name}:RANK or {name}:RANK:PHASE")
    default = "warmup" if name == "raise_rank" else "serving"  # the first decode, or the first after the warm-up
    return Fault(name, rank=int(arguments[0]), phase=arguments[1] if arguments[1:] else default, amount=1.0)


def _plain(name: str, arguments: list[str]) -> Fault:
    if arguments:
        raise SettingsError(f"SIM_FAULT: {name} takes no argument")
    return Fault(name)


def _amount(name: str, arguments: list[str]) -> Fault:
    try:
        amount = float(arguments[0]) if arguments else 5.0
    except ValueError:
        amount = -1.0
    if len(arguments) > 1 or not 0 <= amount < 1e6:
        raise SettingsError(f"SIM_FAULT: {name} takes one number, {name}:NUMBER")
    return Fault(name, amount=amount)


def _share(name: str, arguments: list[str]) -> Fault:
    text = arguments[0] if arguments else "0"
    if len(arguments) > 1 or not text.isdigit() or int(text) > 100:
        raise SettingsError(f"SIM_FAULT: {name} takes a share in percent, {name}:PERCENT")
    return Fault(name, amount=float(text))


def _position(name: str, arguments: list[str]) -> Fault:
    text = arguments[0] if arguments else "5"
    if len(arguments) > 1 or not text.isdigit() or len(text) > 6:
        raise SettingsError(f"SIM_FAULT: {name} takes the number of a token, {name}:NUMBER")
    return Fault(name, amount=float(text))


_READERS: Mapping[str, Callable[[str, list[str]], Fault]] = {
    "crash": _at_phase,
    "oom": _at_phase,
    "hang": _at_phase,
    "graph_width": _graph_width,
    "kill_rank": _at_rank,
    "raise_rank": _at_rank,
    "wrong_answers": _plain,
    "no_port": _plain,
    "no_metrics": _plain,
    "counters_stuck": _plain,
    "wrong_algorithm": _plain,
    "low_acceptance": _share,
    "other_answers": _position,
    "slow_drain": _amount,
    "slow_start": _amount,
}
