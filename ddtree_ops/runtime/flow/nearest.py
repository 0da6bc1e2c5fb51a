"""How far a value comes that doesn't reach its target: the places nearest to it, and the first ones."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .ends import Target
from .places import Field, Line
from .program import FunctionId, Program, Variable
from .search import Search

_FIRST, _BEST = 4, 5
_WORD = re.compile(r"[a-z0-9]+")


class Nearest:
    """Ranks lines by what they have in common with a target."""

    def __init__(self, program: Program, target: Target, written: frozenset[FunctionId]) -> None:
        self.program = program
        self.words = set(_WORD.findall(target.query.name.lower()))
        self.written = written
        self.files = {function.file for function in written}
        self.mentioning = frozenset(program.functions_with(target.query.name))

    def choose(self, search: Search, reads: Iterable[Line]) -> list[Line]:
        """Lines, one for each function: the nearest to the target, then the first that the value comes to."""
        ranked: list[tuple[int, int, Line]] = []
        for state in search.followed:
            name = state.place.name if isinstance(state.place, Field | Variable) else None
            for line in search.origins[state].lines[-1:]:
                ranked.append((-self._closeness(line, name), len(ranked), line))
        for line in reads:
            ranked.append((-self._closeness(line, None), len(ranked), line))
        in_order = [line for _, _, line in ranked]
        ranked.sort(key=lambda each: each[:2])
        chosen: dict[FunctionId, Line] = {}
        for closeness, _, line in ranked:
            if closeness and len(chosen) < _BEST and not self._is_declaration(line):
                chosen.setdefault(line[0], line)
        limit = len(chosen) + _FIRST
        for line in in_order:
            if len(chosen) < limit and not self._is_declaration(line):
                chosen.setdefault(line[0], line)
        return list(chosen.values())

    def _is_declaration(self, line: Line) -> bool:
        return self.program.function(line[0]).kind == "class"

    def _closeness(self, line: Line, name: str | None) -> int:
        function = line[0]
        score = 8 if function in self.written else 4 if function in self.mentioning else 2 if function.file in self.files else 0
        if name is not None:
            score += min(2, len(self.words & set(_WORD.findall(name.lower()))))
        return score
