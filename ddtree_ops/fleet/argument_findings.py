"""Findings on arguments and environment variables that the runtime's own source doesn't take, or takes otherwise than written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from ddtree_ops.fleet.finding import Finding, Severity
from ddtree_ops.fleet.release import Release
from ddtree_ops.runtime.parameters import declared, environment
from ddtree_ops.runtime.parameters.problem import Problem
from ddtree_ops.runtime.parameters.problems import problems
from ddtree_ops.runtime.source.model import SourceTree

_MOST = 6  # of one kind, in a message
# A deploy looks twice, a rollout at many hosts: equal files, by their stamps, are read once.
_declared, _environment = lru_cache(4)(declared), lru_cache(4)(environment)


def argument_findings(release: Release, source: SourceTree) -> Iterator[Finding]:
    """Judge the release's command line and environment by its own source; nothing is judged by plugins alone, without SGLang."""
    files = replace(source, root="", place="")  # the root names the host
    known = _declared(files)
    if not any(one.owner == "sglang" for one in known):
        text = "whether SGLang takes all arguments isn't known: it isn't among the sources here"
        yield Finding("arguments_unknown", Severity.NOTE, text, "stage the release: its source is read from the host")
        return
    yield from as_findings(problems(release.server["argv"], release.server["environment"], known, _environment(files)))


def as_findings(found: Iterable[Problem]) -> Iterator[Finding]:
    """One finding for each kind, since a waiver is given by kind; it names them all, up to six."""
    by_kind: dict[str, list[Problem]] = {}
    for problem in found:
        by_kind.setdefault(str(problem.kind), []).append(problem)
    for kind, those in by_kind.items():
        severity = Severity.ERROR if any(one.certain for one in those) else Severity.WARNING
        more = f" (and {len(those) - _MOST} more)" if len(those) > _MOST else ""
        text = "; ".join(one.message for one in those[:_MOST]) + more
        fix = "; ".join(dict.fromkeys(one.fix for one in those[:_MOST]))
        places = tuple(f"{one.file}:{one.line} {one.name}" for one in those[:_MOST] if one.file and one.line)
        yield Finding(kind, severity, text, fix, places)
