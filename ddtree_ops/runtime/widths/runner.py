"""How the runner of CUDA graphs comes to its width: from the algorithm, up to a limit, or from something else.

Facts: sglang 0.5.12 takes `speculative_num_draft_tokens`, 0.5.13 asks the algorithm's `get_num_tokens_per_bs_for_target_verify`,
0.5.23 does so by way of model_runner.py and spec_utils.py. A patch may do otherwise.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ddtree_ops.runtime.widths.evaluate import Evaluator, assigned, returns
from ddtree_ops.runtime.widths.sources import Found, Module, Names, Scope, SourceFile, called, names_of, parse
from ddtree_ops.runtime.widths.terms import Base, Place, Term

GRAPH_WIDTHS = ("num_tokens_per_bs", "captured_req_width")
GRAPH_RUNNERS = re.compile(r"srt/model_executor/(?:[\w]+/)*(?:decode_)?cuda_graph_runner\.py$")
HOOK = re.compile(r"get_num_tokens_per_(?:bs|req)_for_target_verify$")
_HELPERS = re.compile(r"srt/(?:model_executor/model_runner|speculative/spec_utils)\.py$")
_FARTHEST = 8


@dataclass(frozen=True, slots=True)
class Runner:
    """`terms`: the width as it is kept, DRAFT_TOKENS where the algorithm says it; `caps`: what it is limited to, by `min`.

    `asks`: the algorithm's hook is called. `place`, `name`: the line and field (`CudaGraphRunner.num_tokens_per_bs`).
    """

    terms: tuple[Term, ...] = ()
    caps: tuple[Term, ...] = ()
    asks: bool = False
    place: Place | None = None
    name: str | None = None

    @property
    def follows(self) -> bool:
        """The algorithm's number is taken as it is, but for a limit."""
        return {term.key for term in self.terms if term.base is not Base.UNKNOWN} == {(Base.DRAFT_TOKENS, 0)}


def read(files: Iterable[SourceFile]) -> Runner:
    """What SGLang's source says; model_runner.py is parsed only where the runner's own file doesn't tell."""
    own, helpers = [], []
    for file in files:
        if GRAPH_RUNNERS.search(file.name):
            own.append(file)
        elif _HELPERS.search(file.name):
            helpers.append(file)
    modules = _parsed(own)
    found = _of_modules(modules)
    if found.place is None or any(term.base is not Base.UNKNOWN for term in found.terms):
        return found
    return _of_modules([*modules, *_parsed(helpers)])


def _of_modules(modules: list[Module]) -> Runner:
    names = names_of(modules)
    search = Evaluator(names)
    found = of(names, search)
    return replace(found, terms=(), caps=()) if search.gave_up else found


def of(names: Names, search: Evaluator) -> Runner:
    """The same of names that are known already."""
    sinks = _sinks(names)
    if not sinks:
        return Runner()
    caps: list[Term] = []
    wide: list[Found] = []
    for _, found in sinks:
        for one in _parts(names, found):
            terms = search.of([one])
            if one is not found and terms and all(_fixed(term) for term in terms):
                caps += terms
            else:
                wide.append(one)
    terms = tuple(term for term in search.of(wide) if not _plain(term))
    return Runner(terms, tuple(caps), any(HOOK.match(name) for name in names.calls), _place(sinks), _name(sinks))


def _parsed(files: Iterable[SourceFile]) -> list[Module]:
    return [module for module in map(parse, files) if module is not None]


def _sinks(names: Names) -> list[tuple[str, Found]]:
    """What runners keep as the width of a speculative pass, each with the field's name."""
    return [
        (width, found)
        for width in GRAPH_WIDTHS
        for found in names.writes.get(width, ())
        if GRAPH_RUNNERS.search(found.scope.module.name) and not _of_another_kind(found.value)
    ]


def _of_another_kind(value: ast.expr) -> bool:
    """A plain decode pass takes 1 token; a diffusion model has a block size of its own (`dllm_config.block_size`)."""
    if isinstance(value, ast.Constant):
        return not isinstance(value.value, int) or value.value <= 1
    return isinstance(value, ast.Attribute) and "dllm" in ast.unparse(value)


def _plain(term: Term) -> bool:
    of_dllm = term.base is Base.BLOCK and term.place is not None and "dllm" in term.place.code
    return of_dllm or (term.base is Base.NUMBER and (term.offset or 0) <= 1)


def _fixed(term: Term) -> bool:
    return term.base in (Base.NUMBER, Base.BLOCK) and term.offset is not None


def _parts(names: Names, found: Found) -> Iterator[Found]:
    """The arguments of the `min` that a value comes from; else the value itself."""
    at = found
    for _ in range(_FARTHEST):
        value = at.value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "min" and len(value.args) > 1:
            yield from (Found(one, at.scope, value) for one in value.args)
            return
        before = list(_before(names, at))
        if len(before) != 1:
            break
        (at,) = before
    yield found


def _before(names: Names, found: Found) -> Iterator[Found]:
    """Where the value of a local name, of `int(...)` or of a function called here is made."""
    value, functions = found.value, found.scope.functions
    if isinstance(value, ast.Name) and functions:
        yield from assigned(functions[-1], value.id, found.scope)
    elif isinstance(value, ast.Call) and called(value) == "int" and len(value.args) == 1:
        yield Found(value.args[0], found.scope, value)
    elif isinstance(value, ast.Call):
        for function, scope in names.functions.get(called(value), ()):
            yield from returns(function, Scope(scope.module, scope.functions, scope.inside))


def _place(sinks: list[tuple[str, Found]]) -> Place:
    found = sinks[0][1]
    return found.scope.module.place(found.node)


def _name(sinks: list[tuple[str, Found]]) -> str | None:
    inside = sinks[0][1].scope.inside
    return f"{inside.name}.{sinks[0][0]}" if inside is not None else None
