"""What would stop a deploy: arguments for the programs of roles preflight and model, and their answers as findings.

The roles ask the same two programs, for people with plain Ansible; asked by the look, `plan` knows what `deploy` would run into.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ddtree_ops.fleet import places
from ddtree_ops.fleet.finding import Finding, Severity
from ddtree_ops.fleet.release import Release

MOST_LETTERS = 400  # of a line of evidence
# A model that was never fetched whole lacks dozens of shards; the first ones say it.
MOST_FILES = 5


def host_arguments(release: Release, now: float) -> list[str]:
    """For roles/preflight (its `wanted.py` says what each means); `now` is this machine's time in seconds since the epoch."""
    wanted = {
        **release.wanted_stack(),
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


def facts(output: str) -> Mapping[str, Any]:
    """What the host's program knows besides: `driver`, `cuda`, `gpus` with memory in MiB. Empty where it failed."""
    try:
        found = json.loads(output)["facts"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def shortened(findings: tuple[Finding, ...]) -> Iterator[Finding]:
    """The first MOST_FILES; the last of them says how many more there are."""
    more = len(findings) - MOST_FILES
    yield from findings[: MOST_FILES - 1] if more > 0 else findings
    if more > 0:
        last = findings[MOST_FILES - 1]
        yield Finding(last.id, last.severity, f"{last.message} (and {more} files more)", last.fix, last.evidence)


def _finding(one: Mapping[str, Any]) -> Finding:
    if "path" in one:
        return Finding("model", Severity.ERROR, f"{one['path']} {one['problem']}", str(one["fix"]))
    message = f"{one['found']}; expected {one['expected']}"
    severity = Severity(one.get("severity", Severity.ERROR))
    evidence = tuple(str(line)[:MOST_LETTERS] for line in one.get("evidence", ()))
    return Finding(str(one["check"]), severity, message, str(one["fix"]), evidence)


def _failure(problem: str) -> Finding:
    fix = "see whether python3 works on the host, and whether a file system of the models hangs"
    return Finding("preflight", Severity.ERROR, f"the look before the deploy failed: {problem}", fix)
