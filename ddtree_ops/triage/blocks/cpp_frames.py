"""The shapes of C++ stacks as PyTorch prints them (c10/util/Exception.cpp and Backtrace.cpp, torch 2.0 to 2.14)."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Frame
from ddtree_ops.triage.blocks.frames import is_in_app

RAISED_LITERAL = "Exception raised from "

# `Exception raised from checkTimeout at ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:618 (most recent call first):`
_RAISED = re.compile(r"Exception raised from (?P<function>.{1,1000}) at (?P<file>[^\s:]{1,500}):(?P<line>\d{1,9})(?: \(|$)")
# `frame #1: c10d::ProcessGroupNCCL::watchdogHandler() + 0x233 (0x7f1c in /usr/lib/libtorch_cuda.so)`, `frame #7: python() [0x5]`
_FRAME = re.compile(r"\s{0,8}frame #(?P<number>\d{1,6}): (?P<rest>.*)$")
_PLACE = re.compile(r" \((?:0x[0-9a-f]{1,16} in )?(?P<file>[^()]{1,1000})\)$")
_OFFSET = re.compile(r" \+ (?:0x)?[0-9a-f]{1,16}$| \[0x[0-9a-f]{1,16}\]$")
# symbolized: `#4 c10d::checkTimeout() from ProcessGroupNCCL.cpp:0`
_SYMBOLIZED = re.compile(r"\s{0,8}#(?P<number>\d{1,6}) (?P<function>.{1,1000}) from (?P<file>[^\s:]{1,500}):(?P<line>\d{1,9})$")
_TORCH_SOURCE = re.compile(r"(?:^|/)(?:torch/csrc|c10|aten/src|third_party)/")


def raised_at(text: str) -> Frame | None:
    """The place that raised, from `Exception raised from ...`."""
    if RAISED_LITERAL not in text:
        return None
    found = _RAISED.search(text)
    if not found:
        return None
    in_app = not _TORCH_SOURCE.search(found["file"]) and is_in_app(found["file"])
    return Frame(found["file"], int(found["line"]), found["function"], None, in_app)


def parse_cpp_frame(text: str) -> tuple[int, Frame] | None:
    """Number and frame of a stack's line, number 0 innermost; the file is the shared library, there is no line number."""
    found = _FRAME.match(text) if "frame #" in text else None
    if not found:
        return _symbolized(text)
    rest = found["rest"].rstrip()
    place = _PLACE.search(rest[-1100:])
    file = place["file"] if place else ""
    function = rest.removesuffix(place[0]) if place else rest
    function = _OFFSET.sub("", function)
    return int(found["number"]), Frame(file, None, function, None, bool(file) and is_in_app(file))


def _symbolized(text: str) -> tuple[int, Frame] | None:
    found = _SYMBOLIZED.match(text) if " from " in text else None
    if not found:
        return None
    in_app = is_in_app(found["file"]) and not _TORCH_SOURCE.search(found["file"])
    return int(found["number"]), Frame(found["file"], int(found["line"]) or None, found["function"], None, in_app)
