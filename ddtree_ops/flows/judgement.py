"""Everything that speaks against a deploy: what the host's programs saw, and what spec, source and models tell together."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from ddtree_ops.errors import DdtreeOpsError, Refused
from ddtree_ops.fleet import waivers
from ddtree_ops.fleet.finding import Finding, Severity
from ddtree_ops.fleet.look import Look
from ddtree_ops.fleet.plan import Plan, make_plan
from ddtree_ops.fleet.release import Release
from ddtree_ops.fleet.state import HostState
from ddtree_ops.ports import Shell

if TYPE_CHECKING:  # most looks end with nothing to do, and need none of it: 80 ms
    from ddtree_ops.fleet.width_findings import AskReach
    from ddtree_ops.runtime.source.model import SourceTree
    from ddtree_ops.runtime.trace_data import Reach

#: What is said where SGLang's own source could not be read.
_OPEN = frozenset({"token_widths_unknown", "arguments_unknown", "source_unread"})


def judged_plan(shell: Shell, release: Release, seen: Look, today: date, *, always: bool = False) -> Plan:
    """The plan with all findings, as the spec's waivers leave them. Nothing on the host changes; no source is no failure.

    Where nothing would change, source and models aren't looked into unless `always`: what serves has shown that it can.
    Raises Unreachable.
    """
    plan = make_plan(shell.host, release, seen.state, seen.findings, _wanted_unit(release, seen.state))
    found = plan.findings
    if always or not plan.nothing_to_do:
        source, problem = _source(shell, release, seen)
        found = (*found, *_of(release, source, seen), *problem)
    return replace(plan, findings=waivers.apply(found, release.spec.waivers, today))


def refuse(host: str, findings: tuple[Finding, ...]) -> None:
    """Raises Refused if one of them speaks against a deploy; the others are its evidence."""
    against = [one for one in findings if one.refuses]
    if not against:
        return
    first = against[0]
    beside = (one for one in findings if one is not first and one.severity is not Severity.NOTE and one.waived is None)
    evidence = (*first.evidence, *(f"{one.id}: {one.message}" for one in beside))
    raise Refused(f"{host}: {first.message} [{first.id}]", hint=first.fix, evidence=evidence)


def judge_staged(shell: Shell, release: Release, seen: Look, today: date) -> tuple[Finding, ...]:
    """The same of a release that has just been staged, by its own source: what couldn't be known before. Raises Unreachable."""
    from ddtree_ops.flows import release_source

    source = release_source.staged(shell, release.id)
    return waivers.apply(_of(release, source, seen), release.spec.waivers, today)


def leaves_open(plan: Plan) -> bool:
    """Whether the widths of graph and verify pass are still to be judged once the release is staged."""
    return plan.release.spec.ddtree is not None and any(one.id in _OPEN for one in plan.findings)


def _wanted_unit(release: Release, state: HostState) -> str | None:
    if state.release_unit is None or state.current == release.id:
        return None
    from ddtree_ops.fleet.unit_text import rendered

    return rendered(release)


def _of(release: Release, source: SourceTree | None, seen: Look) -> tuple[Finding, ...]:
    from ddtree_ops.fleet.runtime_findings import runtime_findings

    target, draft = release.spec.model.path, release.spec.draft_model
    models = seen.models
    given = (models.get(target), models.get(draft.path) if draft is not None else None, seen.boots, seen.gpu_mib)
    if source is None:
        return runtime_findings(release, None, *given)
    try:
        return runtime_findings(release, source, *given, _asking(source))
    except Exception as error:  # noqa: BLE001 - strange source, or a mistake of ours about it, must not keep anybody from deploying
        return (*runtime_findings(release, None, *given), _unread(f"{type(error).__name__}: {error}"))


def _source(shell: Shell, release: Release, seen: Look) -> tuple[SourceTree | None, tuple[Finding, ...]]:
    """The staged release itself; else what is here, over a staged release of the same lock, whose SGLang is the same."""
    from ddtree_ops.flows import release_source

    state = seen.state
    try:
        return release_source.planned(shell, release, state.manifests, whole=_is_whole(release, state)), ()
    except (DdtreeOpsError, OSError) as error:
        return None, (_unread(str(error)),)


def _is_whole(release: Release, state: HostState) -> bool:
    """What was changed on the host is staged anew, and not what will run."""
    return release.id not in state.damaged and not state.files.get(release.id)


def _unread(why: str) -> Finding:
    return Finding(
        "source_unread", Severity.NOTE, f"the source of the runtime couldn't be read: {why}", "see why, and plan again"
    )


def _asking(tree: SourceTree) -> AskReach:
    """An index is made when the first question comes: where the widths agree, there is none."""

    def ask(name: str, to: str, without: frozenset[str]) -> Reach | None:
        from ddtree_ops.runtime.source.index import build
        from ddtree_ops.runtime.trace import reaches
        from ddtree_ops.runtime.widths import package_of

        files = tuple(file for file in tree.files if package_of(file.name) not in without)
        try:
            return reaches(build(replace(tree, files=files)), name, to)
        except DdtreeOpsError:  # not a name of this tree
            return None

    return ask
