"""Which of several ways people would rather read: short, by names that say something, in the parts that every server runs."""

from __future__ import annotations

import re

from .places import Field, Line, Place
from .program import Program, Variable

STEP = 4
_VAGUE = 2  # by a name of one word
_ASIDE = 60  # in code for one kind of hardware, for measuring, or for an option few use
_PART = re.compile(
    r"(?:^|[/_])(?:bench\w*|profil\w*|debug\w*|mock\w*|stub\w*|example\w*|npu|ascend|mlx|xpu|hpu|musa|cpu|hip|rocm|aiter|tpu|dllm|"
    r"hardware_backend|disaggregation|canary|multimodal\w*|elastic\w*|experimental)(?=[/_.]|$)"
)


class Cost:
    """The cost of a step; a search goes on with the cheapest way."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._files: dict[str, int] = {}

    def of(self, place: Place, lines: tuple[Line, ...]) -> int:
        """The cost of coming to a place by these lines."""
        cost = STEP + max(self._file(function.file) for function, _ in lines) if lines else 0
        if isinstance(place, Field | Variable) and "_" not in place.name.strip("_"):
            cost += _VAGUE
        return cost

    def _file(self, file: str) -> int:
        found = self._files.get(file)
        if found is None:
            found = self._files[file] = _ASIDE if _PART.search(file) else 0
        return found
