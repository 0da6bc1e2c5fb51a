"""Whether the controller still holds the host: one that lost its lock must not change what another one works with.

The lock's own program (role service) writes the holder's token into the file; by hand, without a token, nothing is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ansible.module_utils.ddtree_staging.problem import Problem
from ansible.module_utils.ddtree_staging.reading import read_object

LOCK = Path("/var/lib/ddtree/lock")
_MOST_BYTES = 65536


@dataclass(frozen=True)
class Fence:
    """`token` is that of the caller's lock; empty: the caller has none."""

    token: str = ""
    lock: Path = LOCK

    def check(self) -> None:
        """Raises Problem where the lock is somebody else's by now."""
        if not self.token:
            return
        try:
            holder = read_object(self.lock, _MOST_BYTES)
        except (OSError, ValueError):
            holder = {}
        if holder.get("token") != self.token:
            raise Problem("this host's lock was lost: the staged release doesn't take the place of the one that is there")
