"""Commit: the current release has proved itself. The link `last-good` is the record; until it is on disk nothing is committed."""

from __future__ import annotations

from typing import Any

from . import deadman, durable, lock, pruning, switching
from .fence import HostError
from .places import Places


def commit(places: Places, release: str, port: int, keep: int, audit: dict[str, Any]) -> tuple[bool, tuple[str, ...]]:
    """Whether anything changed, and the releases that were pruned. Raises HostError, OSError."""
    current, before = places.linked("current"), places.linked("last-good")
    if current != release:
        raise HostError(
            f"the current release is {current or 'none'}, not {release}: switch to it (switch.yml) before it is committed"
        )
    # The line comes first: an interruption between the two repeats a line rather than losing one.
    if before != release:
        fields = {"event": "commit", "release": release, "before": before or "", "port": port}
        lock.audit(str(places.audit), {**fields, **audit})
    changed = durable.link(places.root / "last-good", f"releases/{release}")
    changed |= deadman.disarm(places)
    changed |= bool(switching.clear_others(places, port))
    pruned = pruning.prune(places, keep)
    return changed or bool(pruned), pruned
