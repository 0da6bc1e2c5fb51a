"""What a trace of one parameter says, in a few words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_CODE = 120
_NAMED = 2


@dataclass(frozen=True, slots=True)
class Step:
    """A place of the source, relative to the tree."""

    file: str
    line: int
    function: str
    code: str

    @property
    def place(self) -> str:
        """`sglang/srt/server_args.py:512`."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Traced:
    """One parameter. `target`: what it was followed to, None if nothing; `nearest`: how far it gets where it doesn't reach that.

    `complete`: everything was followed, else "doesn't reach" only means that no way was found. `unseen`: places near the flow at
    which the analysis can't see.
    """

    name: str
    target: str | None
    reaches: bool
    complete: bool
    definitions: tuple[Step, ...]
    writes: tuple[Step, ...]
    path: tuple[Step, ...]
    nearest: tuple[Step, ...]
    unseen: tuple[Step, ...]

    @property
    def short(self) -> str:
        """The name without the file that narrows it."""
        return self.name.rpartition(":")[2]

    def origin(self) -> Iterator[tuple[str, str]]:
        """(what, file:line): where it is defined with its default, and where it is set."""
        for step in self.definitions[:1]:
            yield f"defined: {step.code}", step.place
        defined = {step.place for step in self.definitions}
        for step in [item for item in self.writes if self.short in item.code and item.place not in defined][:1]:
            yield f"set: {step.code}", step.place

    def reach(self) -> Iterator[tuple[str, str]]:
        """(what, file:line): whether it reaches the target, if that is known."""
        if self.target and self.reaches:
            yield f"{self.short} reaches {self.target}{self.through()}", (self.path or self.definitions)[-1].place
        elif self.target and self.complete:
            last = self.nearest[-1:] or self.definitions[:1]
            nearest = f"; nearest: {last[0].code}" if last else ""
            yield f"{self.short} does not reach {self.target}{self._caveat()}{nearest}", _place(last)

    def through(self) -> str:
        """The functions that pass it on, the last ones: ` through get_num_tokens_per_bs_for_target_verify`."""
        names = dict.fromkeys(step.function.rpartition(".")[2] for step in self.path[:-1])
        inner = [name for name in names if name and not name.startswith("__") and not name[:1].isupper()]
        return f" through {', '.join(inner[-_NAMED:])}" if inner else ""

    def as_far_as(self) -> str:
        """` (nearest: file:line)`, with a word of caution where the analysis can't see everything."""
        last = self.nearest[-1:]
        return f" (nearest: {last[0].place}{self._caveat()})" if last else self._caveat()

    def _caveat(self) -> str:
        return f", as far as can be seen: not through {self.unseen[0].place}" if self.unseen else ""


def read_trace(name: str, target: str | None, data: Mapping[str, Any]) -> Traced:
    """From the object that `params trace` gives as JSON. What is missing in it is empty here."""
    to = data.get("to") or {}
    return Traced(
        name=name,
        target=target,
        reaches=bool(to.get("reaches")),
        complete=bool(to.get("complete", True)),
        definitions=_steps(data.get("definitions")),
        writes=_steps(data.get("writes")),
        path=_steps(to.get("path")),
        nearest=_steps(to.get("nearest")),
        unseen=_steps(data.get("blind_spots")) if target else (),
    )


def _steps(rows: object) -> tuple[Step, ...]:
    return tuple(_step(row) for row in rows if isinstance(row, Mapping)) if isinstance(rows, list | tuple) else ()


def _step(row: Mapping[str, Any]) -> Step:
    code = " ".join(str(row.get("code") or "").split())
    shown = code if len(code) <= _CODE else code[: _CODE - 1] + "…"
    return Step(str(row.get("file") or ""), int(row.get("line") or 0), str(row.get("function") or ""), shown)


def _place(steps: tuple[Step, ...]) -> str:
    return steps[0].place if steps else ""
