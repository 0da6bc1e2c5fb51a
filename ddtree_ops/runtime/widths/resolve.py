"""How wide the target's verify pass is captured, and how wide it is run, by the source that will be installed.

A cheap resolution for a plan: it parses the plugins' files and, where SGLang itself has the algorithm, the dozen files of it that
size CUDA graphs and complete server arguments (under a second for 0.5.23). What it can't tell stays unknown.

- A plugin's width is what its class answers to `get_num_tokens_per_bs_for_target_verify` (0.5.13; `..._per_req_...` in 0.5.23),
  or what it inherits: `speculative_num_draft_tokens` as its `validate_server_args` leaves it. The target's graphs are captured
  before the worker is made, so what the worker writes comes too late.
- In a patched SGLang it is what the runner of CUDA graphs takes: `num_tokens_per_bs`, `captured_req_width` in 0.5.23. The same
  counts with a plugin, where that runner doesn't ask the plugin.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from ddtree_ops.runtime.widths import algorithm, opaque, runner
from ddtree_ops.runtime.widths.algorithm import Registration
from ddtree_ops.runtime.widths.entry_points import chosen, plugin_packages
from ddtree_ops.runtime.widths.evaluate import Evaluator, returns
from ddtree_ops.runtime.widths.runner import GRAPH_RUNNERS, GRAPH_WIDTHS, HOOK, Runner
from ddtree_ops.runtime.widths.sources import (
    Found,
    Function,
    Module,
    Names,
    Scope,
    SourceFile,
    called,
    names_of,
    package_of,
    parse,
)
from ddtree_ops.runtime.widths.terms import Base, Place, Term

DRAFT_TOKENS = "speculative_num_draft_tokens"
_VERIFY_WIDTH = re.compile(r"verify_(?:width|tokens)$")
_DECIDING = re.compile(
    r"srt/(?:server_args|speculative/(?:spec_\w+|d(?:dtree|flash)\w*)|arg_groups/speculative\w*|model_executor/model_runner)\.py$"
)
_ALGORITHM = "DDTREE"  # its name to SGLang
_SGLANG = "sglang/"
_MOST_PLUGIN_FILES = 400
_MOST_JUDGED = 4


class Provider(StrEnum):
    """Who provides the algorithm."""

    PLUGIN = "plugin"
    SGLANG = "sglang"
    NOBODY = "nobody"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Widths:
    """`graph`: what the target's graphs are captured for; `verify`: what the worker sends. Empty: not known.

    `registered`: where the algorithm is defined or registered, all of those places. `graph_place`: the line that gives the width,
    `graph_name`: the field of SGLang's that keeps it (`CudaGraphRunner.num_tokens_per_bs`), for `params trace --to`.
    `complete`: SGLang itself is in the tree. `gave_up`: the search was cut short. `caps`: what the graph's width is limited to.
    `each`: the widths of every registration, where there are several. `others`: packages that have no say in these widths.
    """

    provider: Provider
    registered: tuple[Place, ...] = ()
    graph: tuple[Term, ...] = ()
    verify: tuple[Term, ...] = ()
    graph_place: Place | None = None
    graph_name: str | None = None
    complete: bool = False
    gave_up: bool = False
    caps: tuple[Term, ...] = ()
    each: tuple[Widths, ...] = ()
    others: frozenset[str] = frozenset()


def resolve(files: Sequence[SourceFile], plugins: str | None = None) -> Widths:
    """The widths of DDTREE over the files of a tree. `plugins`: the variable SGLANG_PLUGINS of the server, if it is set."""
    packages = plugin_packages(files)
    only = chosen(packages, plugins)
    inside = [file for file in files if _in_sglang(file.name)]
    members = [place for place in (_member(file) for file in inside if file.name.endswith(algorithm.SPEC_INFO)) if place]
    loads = not inside or any(file.name.endswith(algorithm.PLUGIN_LOADER) for file in inside)
    candidates = [file for file in files if _is_plugin(file.name)][:_MOST_PLUGIN_FILES]
    modules = _parsed(candidates) if loads else []
    names = names_of(modules)
    every = list(algorithm.registrations(modules, names, _ALGORITHM))
    found = [one for one in every if only is None or one.package in only]
    places = (*members, *(one.place for one in found))
    complete = bool(inside)
    if found and not members and len(found) > 1 and plugins and only is None:  # the lists of entry points aren't here
        return Widths(Provider.UNKNOWN, places, complete=complete)
    idle = {one.package for one in every} | _idle(packages, only) | (set() if loads else _registering(candidates))
    judged = [_of_sglang(inside, tuple(members))] if members else []
    judged = [replace(one, others=frozenset(idle)) for one in judged]
    for one in found[:_MOST_JUDGED]:
        widths = _of_plugin(one, modules, names, inside, complete=complete)
        judged.append(replace(widths, others=frozenset(idle - {one.package})))
    judged += _unread(algorithm.unreadable(modules, names), {one.package for one in every}, only, complete=complete)
    if not judged:
        return Widths(Provider.NOBODY if complete else Provider.UNKNOWN, complete=complete)
    if len(judged) == 1:
        return replace(judged[0], registered=places or judged[0].registered)
    return Widths(judged[0].provider, places, complete=complete, each=tuple(judged))


def _unread(places: list[Place], known: set[str], only: frozenset[str] | None, *, complete: bool) -> list[Widths]:
    """Registrations under a name that can't be read, by packages that don't register the algorithm elsewhere."""
    packages = {place: package_of(place.file) for place in places}
    unread = [place for place, package in packages.items() if package not in known and (only is None or package in only)]
    return [Widths(Provider.PLUGIN, (place,), complete=complete) for place in unread[:1]]


def _idle(packages: dict[str, str], only: frozenset[str] | None) -> set[str]:
    return set(packages.values()) - only if only is not None else set()


def _registering(files: Iterable[SourceFile]) -> set[str]:
    """Packages that would register an algorithm if this SGLang loaded plugins."""
    found: set[str] = set()
    for file in files:
        with contextlib.suppress(OSError):
            if b"SpeculativeAlgorithm" in (content := file.read()) and b"register" in content:
                found.add(package_of(file.name))
    return found


def _in_sglang(name: str) -> bool:
    return name.rpartition("site-packages/")[2].startswith((_SGLANG, "srt/", "python/sglang/")) or "/sglang/srt/" in name


def _is_plugin(name: str) -> bool:
    return name.endswith(".py") and not _in_sglang(name)


def _member(file: SourceFile) -> Place | None:
    module = parse(file)
    return algorithm.member(module, _ALGORITHM) if module else None


def _parsed(files: Iterable[SourceFile]) -> list[Module]:
    return [module for module in map(parse, files) if module is not None]


def _of_plugin(one: Registration, modules: list[Module], names: Names, inside: list[SourceFile], *, complete: bool) -> Widths:
    own = [module for module in modules if package_of(module.name) == one.package]
    names = names if len(own) == len(modules) else names_of(own)
    search = Evaluator(names)
    taken = runner.read(inside)
    asked = taken.asks or not taken.follows
    answers = _answers(names, one.spec_class) if asked else []
    graph, place = search.of(found for found, _ in answers), answers[0][1] if answers else None
    by_itself = bool(answers) and not any(term.base is Base.DRAFT_TOKENS for term in graph)
    mixed = len({term.base for term in graph}) > 1  # by who asks, or on a condition
    unread = mixed or (asked and opaque.answer(names, one)) or (not by_itself and opaque.completion(names, one, DRAFT_TOKENS))
    if not by_itself:
        completed = _completed(names, one)
        written = search.of(completed)
        graph = (*(term for term in graph if term.base is not Base.DRAFT_TOKENS or not completed), *written)
        place = place or (completed[0].scope.module.place(completed[0].node) if completed else None)
        if not completed:
            graph = graph or (Term(Base.DRAFT_TOKENS, 0, _inherited(inside)),)
    if not _has_budget(graph) and (unread or _has_budget(search.of(_elsewhere(names)))):
        graph = ()  # it changes widths in a way that isn't understood here
    told = Widths(
        Provider.PLUGIN,
        (one.place,),
        graph,
        search.of(_verify(names)),
        place or _inherited(inside) or one.place,
        taken.name if not _has_budget(graph) else None,
        complete,
        search.gave_up,
    )
    if taken.place is None or not graph or (by_itself and taken.asks and not taken.caps):
        return told
    return _taken(told, taken, hooked=any(names.writes.get(width) for width in GRAPH_WIDTHS))


def _taken(told: Widths, taken: Runner, *, hooked: bool) -> Widths:
    """A plugin's widths as SGLang's runner takes them. `hooked`: the plugin writes the runner's width itself."""
    if taken.follows:
        return replace(told, caps=taken.caps, graph_place=taken.place) if taken.caps else told
    asked = any(term.base is Base.DRAFT_TOKENS for term in taken.terms)
    if hooked or asked or not taken.terms:  # a part of the algorithm's number, or it and another one: not understood here
        return replace(told, graph=())
    return replace(told, graph=taken.terms, caps=taken.caps, graph_place=taken.place, graph_name=taken.name)


def _has_budget(terms: Iterable[Term]) -> bool:
    return any(term.base is Base.BUDGET for term in terms)


def _answers(names: Names, spec_class: str | None) -> list[tuple[Found, Place]]:
    """What the registered class and its bases in the same package answer when a graph is sized; the nearest base wins."""
    seen: set[str] = set()
    waiting = [spec_class] if spec_class else []
    while waiting:
        name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        for definition, scope in names.classes.get(name, ()):
            around = Scope(scope.module, scope.functions, definition)
            methods = [one for one in definition.body if isinstance(one, Function) and HOOK.match(one.name)]
            if methods:
                return [(found, scope.module.place(one)) for one in methods for found in returns(one, around)]
            waiting += _bases(definition)
    return []


def _completed(names: Names, one: Registration) -> list[Found]:
    """What the registered validation writes as the number of draft tokens."""
    functions = algorithm.reachable(names, one.validate) if one.validate else set()
    written = names.writes.get(DRAFT_TOKENS, ())
    return [found for found in written if any(function.name in functions for function in found.scope.functions)]


def _elsewhere(names: Names) -> list[Found]:
    """Writes of widths outside of workers, as by a hook into SGLang's classes."""
    written = [found for name in (DRAFT_TOKENS, *GRAPH_WIDTHS) for found in names.writes.get(name, ())]
    return [found for found in written if not _in_worker(found.scope)]


def _in_worker(scope: Scope) -> bool:
    return scope.inside is not None and any("Worker" in name for name in (scope.inside.name, *_bases(scope.inside)))


def _bases(definition: ast.ClassDef) -> list[str]:
    return [base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in definition.bases]


def _verify(names: Names) -> list[Found]:
    """What is given as a verify input's number of tokens (`DFlashVerifyInput.draft_token_num`), or is named so."""
    given = [
        Found(word.value, scope, call)
        for calls in names.calls.values()
        for call, scope in calls
        for word in call.keywords
        if word.arg == "draft_token_num" and called(call) != "dict"
    ]
    told = [one for name, those in names.functions.items() if _VERIFY_WIDTH.search(name) for one in those]
    return given + [found for function, scope in told for found in returns(function, scope)]


def _inherited(inside: Iterable[SourceFile]) -> Place | None:
    """The default answer of SGLang's class for registered algorithms, if SGLang is there."""
    for file in inside:
        if file.name.endswith("srt/speculative/spec_registry.py") and (module := parse(file)):
            for node in ast.walk(module.tree):
                if isinstance(node, Function) and HOOK.match(node.name):
                    return module.place(node.body[-1])
    return None


def _of_sglang(inside: list[SourceFile], places: tuple[Place, ...]) -> Widths:
    names = names_of(_parsed(file for file in inside if _decides(file)))
    search = Evaluator(names)
    taken = runner.of(names, search)
    return Widths(
        Provider.SGLANG,
        places,
        taken.terms,
        search.of(_verify(names)),
        taken.place,
        taken.name,
        complete=True,
        gave_up=search.gave_up,
        caps=taken.caps,
    )


def _decides(file: SourceFile) -> bool:
    if GRAPH_RUNNERS.search(file.name) or _DECIDING.search(file.name):
        return True
    return file.name.endswith(".py") and "ddtree" in file.name.lower()
