"""How many things on a host differ from its current release, by kind: the look's answer without what only a deploy needs.

Any user may run the look: releases are readable by all. What it can't see then is the working directory of the server's process,
so which release runs comes from `installed.py`; and what isn't known is no drift. For commands,
`fleet.look_answer` reads the same answer with pydantic, which is too large for an exporter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.exporter.releases.installed import CURRENT, LAST_GOOD, Installed, running
from ddtree_ops.fleet import look_program, places
from ddtree_ops.fleet.drift import link_changes, unit_changes
from ddtree_ops.fleet.state import FileDrift, HostState, Manifest
from ddtree_ops.ports import Command, Completed
from ddtree_ops.units import systemctl
from ddtree_ops.units.systemctl import Active

KINDS = ("file", "unit", "link", "process", "manifest", "other")
SECONDS = 120.0
CPU_SECONDS = 60
MOST_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a count is made of: the look, the listing, and the last boots of the current release's port."""

    look: Completed
    listing: Installed
    boots: tuple[str, ...]


def command() -> Command:
    """The look at units and at the files in use, with the least claim to the processor and an end to it (prlimit(1), nice(1))."""
    units = systemctl.show_all((systemctl.SERVERS,)).argv
    nothing: dict[str, Any] = {"release": None, "every_release": False, "programs": {}}
    wanted = {"root": places.ROOT, "state": places.STATE, "units": list(units), **nothing}
    argv = ("nice", "-n", "19", "prlimit", f"--cpu={CPU_SECONDS}", *look_program.argv(wanted))
    return Command(argv, ok=frozenset(range(256)), timeout=SECONDS, most_bytes=MOST_BYTES)


def count(evidence: Evidence, host: str) -> Mapping[str, int]:
    """Every kind has a number. Raises HostCommandFailed for no answer, or one that is none."""
    done = evidence.look
    if done.exit_code != 0:
        last = " ".join((done.stderr.strip().splitlines() or ["no output"])[-1].split())[:200]
        raise HostCommandFailed(f"{host}: the look ended with exit code {done.exit_code}: {last}")
    try:
        return _counted(json.loads(done.stdout), evidence)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise HostCommandFailed(f"{host}: the look's answer is damaged: {type(error).__name__}") from error


def _counted(answer: Mapping[str, Any], evidence: Evidence) -> dict[str, int]:
    if answer["units_problem"] is not None:
        raise ValueError("systemd can't be asked")
    state = _state(answer, evidence)
    counts = dict.fromkeys(KINDS, 0)
    counts["link"] = len(tuple(link_changes(state))) + sum(map(evidence.listing.leads_nowhere, (CURRENT, LAST_GOOD)))
    if state.current is None:
        return counts
    manifest = state.manifest(state.current)
    counts["manifest"] = int(manifest is None)
    counts["file"] = _files(state.files.get(state.current))
    counts["unit"] = len(tuple(unit_changes(state))) if manifest is not None else 0
    counts["process"] = _processes(state)
    counts["other"] = int(state.no_state)
    return counts


def _state(answer: Mapping[str, Any], evidence: Evidence) -> HostState:
    current = answer["links"].get("current")
    manifests = [Manifest(name, "", content) for name, content in answer["releases"].items() if content is not None]
    port = next((one.port for one in manifests if one.id == current), None)
    about = _unit(answer, systemctl.unit_name(port or 0))
    unit = systemctl.parse_show(about["show"] if about else "LoadState=not-found")
    runs = about and (about["release"] or running(unit, evidence.listing, evidence.boots))
    return HostState(
        current=current,
        last_good=answer["links"].get("last-good"),
        manifests=tuple(manifests),
        unit=unit,
        running=runs or None,
        not_links=answer["not_links"],
        no_state=answer["no_state"],
        unit_digest=about["digest"] if about else None,
        command=tuple(about["command"] or ()) or None if about else None,
        argv=tuple(about["argv"] or ()) or None if about else None,
        own_drop_ins=tuple(about["drop_ins"]) if about else (),
        files={name: _file_drift(found) for name, found in answer["files"].items() if found is not None},
    )


def _unit(answer: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    found: list[Mapping[str, Any]] = [one for one in answer["units"] if systemctl.parse_show(one["show"]).name == name]
    return found[0] if found else None


def _file_drift(found: Mapping[str, Any]) -> FileDrift:
    names = {kind: tuple(found.get(kind, ())) for kind in ("changed", "missing", "added")}
    return FileDrift(**names, access=dict(found.get("access", {})), more=int(found.get("more", 0)), problem=found.get("problem"))


def _files(files: FileDrift | None) -> int:
    """Without a list nothing can be compared."""
    if files is None:
        return 0
    return len(files.changed) + len(files.missing) + len(files.added) + len(files.access) + files.more + int(bool(files.problem))


def _processes(state: HostState) -> int:
    """Only of a server that serves: one that loads, or is down, shows elsewhere."""
    if state.unit.active is not Active.ACTIVE:
        return 0
    return int(state.running not in (None, state.current)) + int(state.runs_otherwise)
