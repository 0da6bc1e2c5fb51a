"""Signatures on texts that are made to keep regular expressions busy, or to pass for something else."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest

from ddtree_ops.triage.block import Block, Frame, ParsedException
from ddtree_ops.triage.model import FailurePhase
from ddtree_ops.triage.numbers import Facts
from ddtree_ops.triage.signatures import SIGNATURES, Context, Signature, match_line
from tests.hang import ends

SEEDS = (
    "/",
    "'",
    "9",
    "a_b ",
    "lib.so",
    "undefined symbol: ",
    "CUDA out of memory. ",
    "The memory capacity is unbalanced. ",
    "No such file or directory: '/",
    "no file named a found in directory ",
    "(1) is not divisible by ",
    "ptxas --gpu-name=sm_90 ",
    "DFLASH fc.weight shape mismatch. ",
    "x: error: argument --",
    "[full] total=1, available=1, evictable=1, protected=",
)
TYPES = ("RuntimeError", "ValueError", "KeyError", "ImportError", "AssertionError")


def block(kind: str, message: str) -> Block:
    frame = Frame("/opt/s/sglang/srt/server_args.py", 1, "load_weights", "raise x")
    return Block(1, None, None, "", True, (ParsedException(kind, message, None, (frame,)),), (), 0, 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_long_messages_come_to_an_end(seed: str) -> None:
    message = (seed * 70_000)[: 1 << 16]
    for kind in TYPES:
        context = Context(block(kind, message), FailurePhase.ARGUMENTS, Facts())
        for signature in SIGNATURES:
            if signature.match is None:
                continue
            with ends():
                signature.match(context)


_FRAGMENT = re.compile(r"[A-Za-z/'(][\w .,:'=()/-]{3,60}")
_OF_MATCH = tuple(signature for signature in SIGNATURES if signature.match)


def _own_fragments(signature: Signature) -> Iterator[str]:
    """What the patterns of the signature's file are made of, so that long texts of it nearly match."""
    module = sys.modules[signature.match.__module__] if signature.match else None
    for value in vars(module).values():
        if isinstance(value, re.Pattern):
            plain = re.sub(r"\\([^\w])", r"\1", value.pattern)
            yield from _FRAGMENT.findall(plain)


@pytest.mark.parametrize("signature", _OF_MATCH, ids=lambda signature: signature.match.__module__.rpartition(".")[2])
def test_long_messages_of_a_signatures_own_words_come_to_an_end(signature: Signature) -> None:
    assert signature.match is not None
    for fragment in dict.fromkeys(_own_fragments(signature)):
        for text in (f"{fragment}1" * 70_000, f"{fragment}{'1' * 70_000}"):
            with ends():
                signature.match(Context(block("RuntimeError", text[: 1 << 16]), FailurePhase.ARGUMENTS, Facts()))


@pytest.mark.parametrize("seed", SEEDS)
def test_long_lines_come_to_an_end(seed: str) -> None:
    line = (seed * 1_000_000)[: 1 << 20] + ": error: [Errno 98] LLVM ERROR: PTX"
    with ends():
        match_line(line)


@pytest.mark.parametrize(
    "line",
    [
        "gcc: error: unrecognized command-line option '-foo'",
        "make: error: argument list too long",
        "the user wrote: x.py: error: unrecognized arguments: --x",
        "see [Errno 98] in the manual",
        "INFO: LLVM ERROR: PTX version 8.4 does not support target 'sm_103a'. Minimum required PTX version is 8.8",
    ],
)
def test_lines_that_only_look_like_it(line: str) -> None:
    assert match_line(line) is None


def test_literals_are_plain() -> None:
    for signature in SIGNATURES:
        for literal in signature.literals:
            assert literal.isascii()
            assert not set(literal) & set("'\"<>&\\")
