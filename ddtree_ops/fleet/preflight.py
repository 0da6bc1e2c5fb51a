"""What would stop a deploy: arguments for the programs of roles preflight and model, and their answers as findings.

The roles ask the same two programs, for people with plain Ansible; asked by the look, `plan` knows what `deploy` would run into.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ddtree_ops.fleet import places
from ddtree_ops.fleet.release import Release

# A model that was never fetched whole lacks dozens of shards; the first ones say it.
MOST_FILES = 5


class Severity(StrEnum):
    """An error refuses the deploy; a warning is shown."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Finding:
    """Something about the host that a deploy would run into; `fix` is what to do."""

    id: str
    severity: Severity
    message: str
    fix: str


def host_arguments(release: Release, now: float) -> list[str]:
    """For roles/preflight: GPUs, Python, disk, systemd, port, clock; `now` is this machine's time in seconds since the epoch."""
    wanted = {
        "gpus": release.wanted_gpus(),
        "python": str(release.spec.runtime.python),
        "root": places.ROOT,
        "release": release.id,
        "free_mib": release.spec.runtime.free_mib,
        "port": release.spec.port,
        "now": now,
    }
    return [json.dumps(wanted)]


def model_arguments(release: Release) -> list[str]:
    """For roles/model: every file of the target and the draft, as the service user sees it."""
    return [places.SERVICE_USER, *release.model_paths()]


def parse(output: str, problem: str | None) -> tuple[Finding, ...]:
    """The findings of either program. A program that fails is a finding, too: what it would have seen is not known."""
    if problem is not None:
        return (_failure(problem),)
    try:
        return tuple(_finding(one) for one in json.loads(output)["findings"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return (_failure("its answer is damaged"),)


def shortened(findings: tuple[Finding, ...], most: int = MOST_FILES) -> Iterator[Finding]:
    """The first `most`; the last of them says how many more there are."""
    yield from findings[: most - 1] if len(findings) > most else findings
    if len(findings) > most:
        last = findings[most - 1]
        yield Finding(last.id, last.severity, f"{last.message} (and {len(findings) - most} files more)", last.fix)


def _finding(one: Mapping[str, Any]) -> Finding:
    if "path" in one:
        return Finding("model", Severity.ERROR, f"{one['path']} {one['problem']}", str(one["fix"]))
    message = f"{one['found']}; expected {one['expected']}"
    return Finding(str(one["check"]), Severity.ERROR, message, str(one["fix"]))


def _failure(problem: str) -> Finding:
    fix = "see whether python3 works on the host, and whether a file system of the models hangs"
    return Finding("preflight", Severity.ERROR, f"the look before the deploy failed: {problem}", fix)
