"""The thorough check of a release: every file's hash, by the release's own program (sglang_ddtree/manifest.py)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ddtree_ops.fleet import places
from ddtree_ops.fleet.drift import AS_STAGED, Change
from ddtree_ops.ports import Command, Completed

# 10 GB of a runtime from a slow disk.
TIMEOUT_SECONDS = 600.0
MOST_NAMES = 50
_NAMES = {"unit_sha256": "ddtree-server@.service", "server_sha256": "server.json"}


def command(release: str) -> Command:
    """Exit code 0 same, 1 drift; any other: it can't be told. -B: looking at a release leaves no byte code in it."""
    place = f"{places.RELEASES}/{release}"
    argv = (f"{place}/venv/bin/python", "-B", "-P", "-m", "sglang_ddtree.manifest", "verify", "--release", place)
    return Command(argv, ok=frozenset(range(256)), timeout=TIMEOUT_SECONDS)


def parse(done: Completed) -> tuple[Change, ...]:
    """What differs; that it can't be told is a difference, too."""
    try:
        found = json.loads(done.stdout) if done.exit_code in (0, 1) else None
        changes = tuple(_changes(found)) if isinstance(found, dict) else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        changes = None
    if changes is None or (done.exit_code == 1 and not changes):
        said = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.exit_code}").splitlines()[-1]
        return (Change("release", f"can't be verified: {said[:200]}", AS_STAGED),)
    more = Change("more files", str(len(changes) - MOST_NAMES), AS_STAGED)
    return (*changes[:MOST_NAMES], more) if len(changes) > MOST_NAMES else changes


def _changes(found: dict[str, Any]) -> Iterator[Change]:
    for key in found["release_files"]:
        yield Change(f"file {_NAMES.get(key, key)}", "changed", AS_STAGED)
    for group in ("records", "files", "unowned"):
        for word, names in found[group].items():
            yield from (Change(f"file {name}", str(word), None if word == "added" else AS_STAGED) for name in names)
