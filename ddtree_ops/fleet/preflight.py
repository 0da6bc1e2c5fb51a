"""What would stop a deploy: the programs of roles preflight and model, asked over SSH, and their answers as findings.

The roles ask the same two programs, for people with plain Ansible; asked here, `plan` knows what `deploy` would run into.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ddtree_ops import assets
from ddtree_ops.fleet import places
from ddtree_ops.fleet.release import Release
from ddtree_ops.ports import Command, Completed

# Both programs bound whatever they call; the model's files may lie on a slow network file system.
TIMEOUT_SECONDS = 90.0
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


def look_at_host(release: Release, now: float) -> Command:
    """GPUs, Python, disk, systemd, port and clock; `now` is this machine's time in seconds since the epoch."""
    wanted = {
        "gpus": release.wanted_gpus(),
        "python": str(release.spec.runtime.python),
        "root": places.ROOT,
        "release": release.id,
        "free_mib": release.spec.runtime.free_mib,
        "port": release.spec.port,
        "now": now,
    }
    return _program("preflight", json.dumps(wanted))


def look_at_models(release: Release) -> Command:
    """Every file of the target and the draft, as the service user sees it."""
    return _program("model", places.SERVICE_USER, *release.model_paths())


def _program(role: str, *arguments: str) -> Command:
    """The role's own program as one argument of Python: nothing is left on the host, and no standard input is needed."""
    text = assets.role_file(role, f"{role}.py").read_text(encoding="utf-8")
    return Command(("python3", "-c", text, *arguments), ok=frozenset(range(256)), timeout=TIMEOUT_SECONDS)


def parse(done: Completed) -> tuple[Finding, ...]:
    """The findings of either program. A program that fails is a finding, too: what it would have seen is not known."""
    try:
        found = json.loads(done.stdout)["findings"] if done.exit_code == 0 else None
        return tuple(_finding(one) for one in found) if found is not None else (_failure(done),)
    except (ValueError, TypeError, KeyError):
        return (_failure(done),)


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


def _failure(done: Completed) -> Finding:
    last = ((done.stderr or done.stdout).strip().splitlines() or ["no output"])[-1]
    if done.exit_code in (126, 127):  # what a shell, or sudo, says of a program that isn't there
        return Finding("python", Severity.ERROR, f"python3 can't be started: {last}", "install python3 on the host")
    message = f"the look at the host failed with exit code {done.exit_code}: {last}"
    return Finding("preflight", Severity.ERROR, message, "see whether python3 works on the host")
