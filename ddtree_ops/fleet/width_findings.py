"""Findings on token widths: what the installed source captures CUDA graphs for, against what the tree's verify pass will send.

A graph that was captured for another number of tokens than it is replayed with ends the first request, minutes after the start,
with `The size of tensor a (8) must match the size of tensor b (33) at non-singleton dimension 0`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from ddtree_ops.fleet.finding import Finding, Severity
from ddtree_ops.fleet.release import Release
from ddtree_ops.fleet.sections import DdtreeSpec
from ddtree_ops.runtime.trace_data import Reach, Step
from ddtree_ops.runtime.widths import Base, Place, Provider, Term, Widths

_BUDGET_KEY, _BLOCK_KEY = "ddtree_serving.ddtree.budget", "ddtree_serving.ddtree.block_size"
_OURS = "use a runtime that captures what it verifies: the plugin sglang-ddtree does (leave other plugins and patches out)"
_FIXED = "fixed in the source"
_STEPS_SHOWN = 3

AskReach = Callable[[str, str, frozenset[str]], Reach | None]
"""`runtime.trace.reaches` over an index of the tree without some packages; None where a name isn't known there."""


def width_findings(release: Release, widths: Widths | None, ask: AskReach | None = None) -> Iterator[Finding]:
    """Judge the widths; `widths` is None if there is no source to read. `ask` is only used to say how far a lost budget comes."""
    tree = release.spec.ddtree
    if tree is None:
        return
    if widths is None or widths.provider is Provider.UNKNOWN:
        yield _unknown("there is no source here that defines DDTREE", "stage the release, or name its wheels in runtime.wheels")
    elif widths.provider is Provider.NOBODY:
        yield Finding(
            "algorithm_missing",
            Severity.ERROR,
            "nothing in this runtime defines or registers the algorithm DDTREE; SGLang ends with "
            "'Unknown speculative algorithm name: DDTREE'",
            "add the plugin sglang-ddtree to the release (ddtree-ops does), or leave out ddtree_serving.ddtree for plain DFLASH",
        )
    else:
        yield from _ranked(one for each in widths.each or (widths,) for one in _with_graphs(release, tree, each, ask))
        if len(widths.registered) > 1:
            yield _registered_twice(widths)


def _with_graphs(release: Release, tree: DdtreeSpec, widths: Widths, ask: AskReach | None) -> Iterator[Finding]:
    found = tuple(_judge(tree, widths, ask))
    graphs_off = "--disable-cuda-graph" in release.server["argv"]
    yield from (_without_graphs(one) if graphs_off and one.severity is Severity.ERROR else one for one in found)
    if not found and release.inputs.patches and not widths.complete:
        yield _unknown("the patches change an SGLang that isn't here", "stage the release: its source is read from the host")


def _ranked(found: Iterable[Finding]) -> Iterator[Finding]:
    """Mismatches first, one finding of a kind: what the same kind says of further registrations is its evidence."""
    kinds: dict[str, Finding] = {}
    for one in sorted(found, key=lambda one: one.id != "token_width_mismatch"):
        first = kinds.setdefault(one.id, one)
        if first is not one and one != first:
            kinds[one.id] = replace(first, evidence=(*first.evidence, f"also: {one.message}", *one.evidence))
    yield from kinds.values()


def _registered_twice(widths: Widths) -> Finding:
    return Finding(
        "algorithm_registered_twice",
        Severity.ERROR,
        f"the algorithm DDTREE is defined {len(widths.registered)} times; SGLang takes the first and refuses the others, "
        "in an order that nobody chose",
        "keep one: take the other wheel or patch out of ddtree_serving.runtime, or choose with the variable SGLANG_PLUGINS",
        tuple(str(place) for place in widths.registered),
    )


def _without_graphs(mismatch: Finding) -> Finding:
    return replace(mismatch, severity=Severity.WARNING, message=f"CUDA graphs are off here; with them: {mismatch.message}")


def _judge(tree: DdtreeSpec, widths: Widths, ask: AskReach | None) -> Iterator[Finding]:
    verify, why_verify = _verify(tree, widths)
    budgets = [term for term in widths.graph if term.base is Base.BUDGET]
    if verify is None or (widths.gave_up and not budgets) or not widths.graph:
        yield _unknown("the source doesn't tell how many tokens the graph or the verify pass takes", _OURS, widths)
        return
    if budgets:
        numbers = {tree.budget + term.offset for term in budgets if term.offset is not None}
        if numbers and verify not in numbers:
            yield _mismatch(min(numbers), budgets[0], verify, why_verify, widths)
        elif (cap := _cap(tree, widths)) is not None and cap[0] < verify:
            yield _mismatch(*cap, verify, why_verify, widths)
        return
    graph = _graph(tree, widths)
    if graph is None:
        yield _unknown("the source doesn't tell how many tokens the graph takes", _OURS, widths)
    elif graph[0] != verify:
        reach = ask("speculative_ddtree_budget", widths.graph_name, widths.others) if ask and widths.graph_name else None
        if reach is not None and reach.reaches and widths.provider is not Provider.PLUGIN:
            yield _unknown("two analyses of the source contradict each other on the graph's width", _OURS, widths)
        else:
            yield _mismatch(*graph, verify, why_verify, widths, reach)
    elif verify != tree.budget + 1:
        yield Finding(
            "budget_ignored",
            Severity.WARNING,
            f"{_BUDGET_KEY} is {tree.budget}, but this runtime always verifies {verify} tokens ({why_verify})",
            _OURS,
            tuple(_evidence(widths)),
        )


def _verify(tree: DdtreeSpec, widths: Widths) -> tuple[int | None, str]:
    """Tokens of a verify pass and where the number comes from; the spec's budget, unless the source has another one."""
    spec = f"{_BUDGET_KEY}: {tree.budget}, and the root"
    if any(term.base is Base.BUDGET for term in widths.verify):
        offsets = {1 if term.offset is None else term.offset for term in widths.verify if term.base is Base.BUDGET}
        return tree.budget + (1 if 1 in offsets else min(offsets)), spec
    if any(term.base in (Base.BLOCK, Base.DRAFT_TOKENS) for term in widths.verify):
        return tree.block_size, f"{_BLOCK_KEY}: {tree.block_size}"
    numbers = {term.offset: term for term in widths.verify if (term.offset or 0) > 1}
    if len(numbers) != 1 or any(term.base is not Base.NUMBER for term in widths.verify):
        return None, ""
    ((number, term),) = numbers.items()
    return number, f"{term.place}, {_FIXED}"


def _cap(tree: DdtreeSpec, widths: Widths) -> tuple[int, Term] | None:
    """The most tokens that the graph's runner lets through."""
    caps = [((term.offset or 0) + (tree.block_size if term.base is Base.BLOCK else 0), term) for term in widths.caps]
    return min(caps, key=lambda one: one[0], default=None)


def _graph(tree: DdtreeSpec, widths: Widths) -> tuple[int, Term] | None:
    """Tokens that the graph takes where the budget isn't among them."""
    found, cap = _widest(tree, widths), _cap(tree, widths)
    return cap if found and cap and cap[0] < found[0] else found


def _widest(tree: DdtreeSpec, widths: Widths) -> tuple[int, Term] | None:
    for base in (Base.BLOCK, Base.DRAFT_TOKENS):
        found = [term for term in widths.graph if term.base is base and term.offset is not None]
        if found:
            nearest = min(found, key=lambda term: abs(term.offset or 0))
            # The number of draft tokens is the block, as DFLASH completes it; a spec can't set it otherwise (server_args.OWNED).
            return tree.block_size + (nearest.offset or 0), nearest
    numbers = [term for term in widths.graph if term.base is Base.NUMBER]
    if len(numbers) == 1 and len(widths.graph) == 1:
        return numbers[0].offset or 0, numbers[0]
    return None


def _mismatch(graph: int, term: Term, verify: int, why_verify: str, widths: Widths, reach: Reach | None = None) -> Finding:
    place = widths.graph_place or term.place
    origin = {Base.BLOCK: _BLOCK_KEY, Base.DRAFT_TOKENS: f"the number of draft tokens, {_BLOCK_KEY}", Base.BUDGET: _BUDGET_KEY}
    where = f"{place.file}:{place.line}" if place else "the source"
    limited = term in widths.caps
    never = "" if term.base is Base.BUDGET or limited else "; the budget never reaches the graph's width"
    return Finding(
        "token_width_mismatch",
        Severity.ERROR,
        f"the target's CUDA graphs are captured for {graph} tokens per request ({origin.get(term.base, 'a fixed number')}, at "
        f"{where}), but the tree's verify pass sends {verify} ({why_verify}){never}: the first request would end the server with "
        f"'The size of tensor a ({graph}) must match the size of tensor b ({verify})'",
        f"{_OURS}{_other_ways(graph, by_budget=not why_verify.endswith(_FIXED) and term.base is not Base.BUDGET)}",
        (*_evidence(widths), *_nearest(reach)),
    )


def _other_ways(graph: int, *, by_budget: bool) -> str:
    budget = f"; or set {_BUDGET_KEY} to {graph - 1}: both are {graph} then" if by_budget and graph > 2 else ""
    return f"{budget}; or set ddtree_serving.server_args.disable-cuda-graph: true, which is slow"


def _evidence(widths: Widths) -> Iterator[str]:
    yield from (f"algorithm: {place}" for place in widths.registered)
    if widths.graph_place:
        yield f"graph: {widths.graph_place}"
    yield from _places("graph from", widths.graph, (Base.BLOCK, Base.BUDGET), widths.graph_place)
    known = any(term.base is Base.BUDGET for term in widths.verify)
    yield from _places("verify", widths.verify, (Base.BUDGET if known else Base.NUMBER,))


def _nearest(reach: Reach | None) -> Iterator[str]:
    """How far the budget comes: the lines that name it first."""
    if reach is not None and reach.reaches:
        yield "params trace: by names alone the budget has a way to the graph's width; the registered class doesn't take it"
    steps = sorted(reach.nearest if reach else (), key=lambda step: "budget" not in step.code)
    yield from (_shown("nearest", step) for step in steps[:_STEPS_SHOWN])


def _places(what: str, terms: tuple[Term, ...], bases: tuple[Base, ...], but: Place | None = None) -> Iterator[str]:
    found = [term.place for base in bases for term in terms if term.base is base and term.place and term.place != but]
    yield from (f"{what}: {place}" for place in found[:2])


def _shown(what: str, step: Step) -> str:
    code = "".join(one if one.isprintable() else "?" for one in step.code[:160])
    return f"{what}: {step.file}:{step.line} {code}"


def _unknown(why: str, fix: str, widths: Widths | None = None) -> Finding:
    text = f"whether graph and verify pass have the same number of tokens isn't known: {why}"
    return Finding("token_widths_unknown", Severity.NOTE, text, fix, tuple(_evidence(widths)) if widths else ())
