"""Waivers of the spec (`ddtree_serving.waivers`): findings that somebody decided to live with, for a while."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date

from ddtree_ops.fleet.finding import Finding, Severity, Waiver
from ddtree_ops.fleet.sections import WaiverSpec

UNUSED = "waiver_unused"


def apply(findings: Iterable[Finding], waivers: Mapping[str, WaiverSpec | None], today: date) -> tuple[Finding, ...]:
    """The findings as the spec's waivers leave them.

    One that has expired counts for nothing, and the finding says so. A waiver that meets no finding is a note of its own.
    """
    found = tuple(findings)
    given = {name: waiver for name, waiver in waivers.items() if waiver is not None}
    judged = (_judged(one, given.get(one.id), today) for one in found)
    return (*judged, *_unused(found, given))


def _judged(finding: Finding, waiver: WaiverSpec | None, today: date) -> Finding:
    if waiver is None or finding.severity is Severity.NOTE:
        return finding
    if waiver.until < today:
        return replace(finding, message=f"{finding.message} (its waiver expired on {waiver.until}: {waiver.reason})")
    return replace(finding, waived=Waiver(waiver.reason, waiver.until))


def _unused(found: tuple[Finding, ...], given: Mapping[str, WaiverSpec]) -> Iterator[Finding]:
    ids = {one.id for one in found}
    for name, waiver in given.items():
        if name not in ids:
            text = f"the waiver for {name} until {waiver.until} ({waiver.reason}) meets no finding"
            yield Finding(UNUSED, Severity.NOTE, text, f"remove ddtree_serving.waivers.{name}, unless the finding comes and goes")
