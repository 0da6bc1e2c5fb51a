"""What the figures have to reach, and whether they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Documents = Mapping[str, Any]


@dataclass(frozen=True)
class Goal:
    """`read` gives the figure, or None where it was not measured; it has to be below `limit` (`at_least`: not below it)."""

    what: str
    read: Callable[[Documents], float | None]
    limit: float
    unit: str
    at_least: bool = False

    def reached(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value < self.limit


def cell(documents: Documents, scenario: str, hosts: int, round_trip: int, tool: str, figure: str = "seconds") -> float | None:
    """A median of converge, or the peak memory."""
    for document in (documents.get("converge"), documents.get("converge-30")):
        for case in (document or {}).get("cases", ()):
            if (case["scenario"], case["hosts"], case["round_trip_ms"]) == (scenario, hosts, round_trip) and tool in case[
                "tools"
            ]:
                found = case["tools"][tool][figure]
                return float(found["median"] if isinstance(found, dict) else found)
    return None


def late(documents: Documents, story: str) -> float | None:
    """A median of readiness."""
    for row in documents.get("readiness", {}).get("stories", ()):
        if row["story"] == story:
            return float(row["late"]["median"])
    return None


def command(documents: Documents, what: str) -> float | None:
    """A median of params."""
    for row in documents.get("params", {}).get("commands", ()):
        if row["what"] == what:
            return float(row["wall"]["median"])
    return None


def _command(what: str) -> Callable[[Documents], float | None]:
    return lambda documents: command(documents, what)


def _ours(scenario: str, hosts: int, round_trip: int, figure: str = "seconds") -> Callable[[Documents], float | None]:
    return lambda documents: cell(documents, scenario, hosts, round_trip, "ours", figure)


def _times(scenario: str, hosts: int, round_trip: int, tool: str) -> Callable[[Documents], float | None]:
    """How often ours fits into the peer's time."""

    def read(documents: Documents) -> float | None:
        ours, theirs = (cell(documents, scenario, hosts, round_trip, one) for one in ("ours", tool))
        return theirs / ours if ours and theirs else None

    return read


def _late(story: str) -> Callable[[Documents], float | None]:
    return lambda documents: late(documents, story)


GOALS = (
    Goal("no-op, 1 host", _ours("noop", 1, 0), 0.6, "s"),
    Goal("no-op, 10 hosts", _ours("noop", 10, 0), 1.2, "s"),
    Goal("no-op, 1 host at 40 ms", _ours("noop", 1, 40), 1.2, "s"),
    *(
        Goal(f"no-op, {name}, times faster than {title}", _times("noop", hosts, ms, tool), limit, "times", at_least=True)
        for tool, title, limit in (("pyinfra", "pyinfra", 3.5), ("tuned", "tuned Ansible", 9.0))
        for name, hosts, ms in (("1 host", 1, 0), ("10 hosts", 10, 0), ("1 host at 40 ms", 1, 40))
    ),
    Goal(
        "changed argument, times faster than tuned Ansible in 20 tasks",
        _times("changed", 1, 0, "tuned"),
        4.0,
        "times",
        at_least=True,
    ),
    Goal("ready", _late("ready"), 0.4, "s late"),
    *(Goal(f"crash ({name})", _late(f"crash_{name}"), 0.8, "s late") for name in ("loading", "warmup", "waiting")),
    Goal("stall", _late("stall"), 20.0, "s late"),
    Goal("params trace on a whole SGLang, nothing known", _command("params trace, cold"), 8.0, "s"),
    Goal("params trace on a whole SGLang, again", _command("params trace"), 0.5, "s"),
    Goal("params trace --to, again", _command("params trace --to"), 0.5, "s"),
    Goal("30 hosts at once, memory of the controller", _ours("first", 30, 0, "peak_mib"), 300.0, "MiB"),
)
