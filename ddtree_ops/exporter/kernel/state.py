"""What the kernel pass knows from one pass to the next, as JSON: counters, and the place up to which they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ddtree_ops.exporter.journal.state import Place, place
from ddtree_ops.exporter.kernel.lines import OTHER, SERVER, Victims

#: Series of Xids: more than the catalogue allows are not told apart any more.
MOST = 120
_REST = ("other", "other")


@dataclass(frozen=True, slots=True)
class Seen:
    """How often, and when last, in microseconds."""

    count: int
    last_us: int


@dataclass(slots=True)
class KernelState:
    """`gpus`: indexes by PCI address, asked for in the boot `gpus_boot`; -1: not known.

    Lines up to `silent_us` were counted by a file that is lost.
    """

    after: Place | None = None
    xids: dict[tuple[str, str], Seen] = field(default_factory=dict)
    killed: dict[str, int] = field(default_factory=lambda: {SERVER: 0, OTHER: 0})
    victims: Victims = field(default_factory=Victims)
    gpus: dict[str, int] = field(default_factory=dict)
    gpus_boot: str = ""
    silent_us: int = 0

    def xid(self, gpu: str, xid: str, at_us: int) -> None:
        """Count one message."""
        key = (gpu, xid) if (gpu, xid) in self.xids or len(self.xids) < MOST else _REST
        seen = self.xids.get(key, Seen(0, 0))
        self.xids[key] = Seen(seen.count + 1, max(seen.last_us, at_us))

    def to_data(self) -> dict[str, Any]:
        """As it is written."""
        return {
            "after": asdict(self.after) if self.after else None,
            "xids": [[gpu, xid, seen.count, seen.last_us] for (gpu, xid), seen in self.xids.items()],
            "killed": self.killed,
            "chosen": [[pid, whose] for pid, whose in self.victims.chosen.items()],
            "group": self.victims.group,
            "gpus": self.gpus,
            "gpus_boot": self.gpus_boot,
            "silent_us": self.silent_us,
        }


def from_data(data: Mapping[str, Any]) -> KernelState:
    """The state as it was written. Raises ValueError, KeyError, TypeError, AttributeError for anything else."""
    return KernelState(
        after=place(data["after"]),
        xids={(gpu, xid): Seen(int(count), int(last)) for gpu, xid, count, last in data["xids"]},
        killed={whose: int(data["killed"][whose]) for whose in (SERVER, OTHER)},
        victims=Victims({int(pid): str(whose) for pid, whose in data["chosen"]}, data["group"]),
        gpus={name: int(index) for name, index in data["gpus"].items()},
        gpus_boot=data["gpus_boot"],
        silent_us=int(data["silent_us"]),
    )
