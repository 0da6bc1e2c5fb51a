"""Assertions within GPU kernels: one line for each thread that failed, thousands of them for one failure.

`file.cu:16: function: block: [42,0,0], thread: [224,0,0] Assertion `...` failed.` is the driver's form, for CUDA C++ and
for Triton (whose files are .py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from ddtree_ops.triage.block import Origin
from ddtree_ops.triage.blocks.collector import Collector, Draft, Result

_LINE = re.compile(
    r"(?<![^\s:])(?P<file>[^\s:]{1,500}):(?P<line>\d{1,7}): (?P<function>.{0,1000}?): block: \[\d{1,10},\d{1,10},\d{1,10}\],"
    r" thread: \[\d{1,10},\d{1,10},\d{1,10}\] Assertion `(?P<condition>.{1,1000}?)` failed\."
)
_MARK = " Assertion `"
_KINDS_LIMIT = 32


@dataclass(frozen=True, slots=True)
class DeviceAssert:
    """One assertion of a kernel's source: where, and its condition or words."""

    file: str
    line: int
    function: str
    condition: str


def read_assert(text: str) -> DeviceAssert | None:
    """What an assertion's line says, or None."""
    found = _LINE.search(text[:4000]) if _MARK in text else None
    return DeviceAssert(found["file"], int(found["line"]), found["function"], found["condition"]) if found else None


class _Asserts:
    def __init__(self, first: DeviceAssert, text: str) -> None:
        self._lines: dict[DeviceAssert, str] = {first: text}
        self._counts: dict[DeviceAssert, int] = {first: 1}

    def take(self, text: str, _dated: bool, /) -> bool:
        found = read_assert(text)
        if found is None:
            return not text.strip()
        if found in self._counts or len(self._counts) < _KINDS_LIMIT:
            self._lines.setdefault(found, text)
            self._counts[found] = self._counts.get(found, 0) + 1
        return True

    def finish(self) -> Result:
        lines = [f"{text} ({self._counts[one]} such lines)" for one, text in self._lines.items()]
        return Result(lines=tuple(lines))


class DeviceAsserts(Collector):
    """The assertion lines of a process, equal ones once with their number."""

    literals: ClassVar[tuple[str, ...]] = ("] Assertion ",)
    origin: ClassVar[Origin] = Origin.DEVICE_ASSERT
    shown: ClassVar[int] = 1

    def begin(self, text: str, dated: bool, /) -> tuple[Draft, int] | None:
        """The first of them."""
        found = None if dated else read_assert(text)
        return (_Asserts(found, text.strip()[:2000]), 0) if found else None
