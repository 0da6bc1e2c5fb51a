"""Whether two reports tell of the same failure, and what differs where they don't."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import zip_longest
from typing import Any

from ddtree_ops.report.cells import wrap
from ddtree_ops.report.failure import FailureReport
from ddtree_ops.report.failure_parts import ending, own_frames
from ddtree_ops.report.wording import VERDICTS, headline, place, short_file
from ddtree_ops.triage.block import Frame
from ddtree_ops.triage.fingerprint import file_tail
from ddtree_ops.triage.model import Failure, Verdict

SCHEMA = "ddtree-ops/comparison/v1"
_TEXT = 300


class Sameness(StrEnum):
    """INCONCLUSIVE: at least one report has nothing to judge by."""

    SAME = "same"
    DIFFERENT = "different"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Difference:
    """`what`: verdict, kind, exceptions, frame, phase, message, number, ranks. `decides`: it makes them two failures.

    What doesn't decide is a value only: the same failure with another number, on another rank.
    """

    what: str
    a: str
    b: str
    decides: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result for two reports' root failures; the fingerprints are None where nothing failed."""

    sameness: Sameness
    fingerprint_a: str | None
    fingerprint_b: str | None
    differences: tuple[Difference, ...]

    @property
    def exit_code(self) -> int:
        """0 same, 6 different, 10 inconclusive (README's table)."""
        return {Sameness.SAME: 0, Sameness.DIFFERENT: 6, Sameness.INCONCLUSIVE: 10}[self.sameness]

    def to_data(self) -> dict[str, Any]:
        """A document that scripts can rely on."""
        return {
            "schema": SCHEMA,
            "result": self.sameness.value,
            "a": self.fingerprint_a,
            "b": self.fingerprint_b,
            "differences": [asdict(item) for item in self.differences],
        }

    def to_text(self, *, width: int = 100) -> str:
        """The verdict first, then each difference with both sides below each other."""
        lines = [self._verdict()]
        for item in self.differences:
            lines += ["", item.what + ("" if item.decides else " (a value only)")]
            for name, text in (("A", item.a), ("B", item.b)):
                first, *rest = wrap(text, max(20, width - 4))
                lines += [f"  {name} {first}", *(f"    {part}" for part in rest)]
        return "\n".join(lines) + "\n"

    def _verdict(self) -> str:
        if self.sameness is Sameness.INCONCLUSIVE:
            return "Can't be compared: nothing to judge by in at least one of them"
        if self.fingerprint_a is None and self.fingerprint_b is None:
            return "Same: no failure in either"
        if self.sameness is Sameness.SAME:
            return f"Same failure, fingerprint {self.fingerprint_a}"
        return f"Different: {self.fingerprint_a or 'no failure'} and {self.fingerprint_b or 'no failure'}"


def compare(a: FailureReport, b: FailureReport) -> Comparison:
    """Compare by the root's fingerprint: exception types and the application's frames, not values, ranks or line numbers."""
    one, two = a.cleaned(), b.cleaned()
    left, right = one.root, two.root
    if left is None or right is None:
        verdicts = (one.verdict, two.verdict)
        same = Sameness.INCONCLUSIVE if Verdict.INCONCLUSIVE in verdicts else _as_word(left is right is None)
        told = () if one.verdict is two.verdict else (Difference("verdict", VERDICTS[one.verdict], VERDICTS[two.verdict], True),)
        return Comparison(same, left.fingerprint if left else None, right.fingerprint if right else None, told)
    same = _as_word(left.fingerprint == right.fingerprint)
    differences = tuple(_differences(left, right, same is Sameness.DIFFERENT))
    return Comparison(same, left.fingerprint, right.fingerprint, differences)


def _as_word(same: bool) -> Sameness:
    return Sameness.SAME if same else Sameness.DIFFERENT


def _differences(a: Failure, b: Failure, differ: bool) -> Iterator[Difference]:
    pairs = (
        ("kind", a.kind.value, b.kind.value, differ),
        ("exceptions", _types(a), _types(b), differ),
        ("frame", *_first_frame(a, b), differ),
        ("phase", a.phase.value, b.phase.value, False),
        ("message", _message(a), _message(b), False),
        ("number", _numbers(a, b), _numbers(b, a), False),
        ("place", place(a) or "not told", place(b) or "not told", False),
    )
    for what, left, right, decides in pairs:
        if left != right:
            yield Difference(what, left[:_TEXT], right[:_TEXT], decides)


def _types(failure: Failure) -> str:
    """`KeyError, cause: RuntimeError`."""
    parts = [f"{item.relation.value}: {item.type}" if item.relation else item.type for item in failure.exceptions]
    return ", ".join(parts) or "none"


def _first_frame(a: Failure, b: Failure) -> tuple[str, str]:
    """The first frame, from the outside, at which the own frames of both part; equal texts if they don't."""
    for left, right in zip_longest(_own(a), _own(b)):
        if left is None or right is None or (file_tail(left), left.function) != (file_tail(right), right.function):
            return _named(left), _named(right)
    return "", ""


def _own(failure: Failure) -> list[Frame]:
    return [frame for item in failure.exceptions for frame in own_frames(item.frames)]


def _named(frame: Frame | None) -> str:
    """Without the line number: it doesn't make a difference."""
    return "no further frame" if frame is None else f"{short_file(frame)} in {frame.function or '?'}"


def _message(failure: Failure) -> str:
    last = ending(failure)
    return headline(last) if last else failure.title


def _numbers(failure: Failure, other: Failure) -> str:
    """The numbers that the other one doesn't have."""
    known = {(item.value, item.expression) for item in other.numbers}
    found = [f"{item.value} ({item.expression})" for item in failure.numbers if (item.value, item.expression) not in known]
    return ", ".join(found) or "none of its own"
