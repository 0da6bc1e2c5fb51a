"""Facts of one file: stored and loaded they are the same, and files that can't be read say why."""

from __future__ import annotations

import gc
import hashlib
import sys

import pytest

from ddtree_ops.runtime.extract import EXTRACTOR_VERSION, FileFacts, extract

SAMPLE = b"""
import os
from functools import partial

NAME = "PKG_NAME"


class Args(Base):
    size: int = 1

    @property
    def twice(self) -> int:
        return self.size * 2


def run(args: Args, *rest, key=NAME, **more):
    total, (first, *others) = args.size, [args.twice, *rest]
    table = {"k": total, key: first}
    table["later"] = os.environ.get("PKG_SIZE", "3")
    bound = partial(run, args, **more)
    for number, each in enumerate(others):
        if number > args.size:
            raise ValueError(f"{each}")
        yield getattr(args, "size"), getattr(args, key), bound(lambda x: x + 1)
"""
UNREADABLE = {
    "syntax": (b"def (:\n", "line 1"),
    "null": (b"x = 1\0\n", "null byte"),
    "deep": (b"-" * 100_000 + b"1", ""),
    "parentheses": (b"(" * 3000 + b")" * 3000, ""),
    "coding": (b"# coding: no-such\n", "no-such"),
    "large": (b"#" * (7 << 20), "larger than"),
}


def test_stored_facts_are_the_same_facts() -> None:
    facts = extract("a.py", SAMPLE)
    again = FileFacts.load(facts.dump()).renamed("b.py")
    assert again.name == "b.py"
    assert again.names == facts.names
    assert [again.body(number) for number in range(len(again._raw[3]))] == [
        facts.body(number) for number in range(len(facts._raw[3]))
    ]
    assert [again.klass(number) for number in range(again.class_count)] == [facts.klass(0)]


def test_names_say_in_which_function_they_occur() -> None:
    facts = extract("a.py", SAMPLE)
    functions = {facts.function(number).qualified for number in facts.names["size"]}
    assert functions == {"Args", "Args.twice", "run"}
    assert {"PKG_SIZE", "$PKG_SIZE", "NAME", "later"} <= set(facts.names)


def test_an_extractor_that_finds_other_facts_has_another_version() -> None:
    if sys.version_info[:2] != (3, 11):
        pytest.skip("the digest is of Python 3.11")
    # The cache is kept by this version: whoever changes the facts raises it, and then this pair.
    digest = hashlib.sha256(repr(_plain(extract("a.py", SAMPLE))).encode()).hexdigest()[:16]
    assert (EXTRACTOR_VERSION, digest) == (EXPECTED_VERSION, EXPECTED_DIGEST)


@pytest.mark.parametrize("kind", UNREADABLE)
def test_what_cannot_be_read_says_why(kind: str) -> None:
    content, reason = UNREADABLE[kind]
    facts = extract("a.py", content)
    assert facts.problem
    assert reason in facts.problem
    assert FileFacts.load(facts.dump()).problem == facts.problem
    assert not facts.names


def test_garbage_collection_is_as_before() -> None:
    assert gc.isenabled()
    extract("a.py", SAMPLE)
    assert gc.isenabled()
    gc.disable()
    try:
        extract("a.py", b"def (:\n")
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"not marshal", b"i\x01\x00\x00\x00"])
def test_damaged_facts_are_refused(data: bytes) -> None:
    with pytest.raises((ValueError, EOFError, TypeError)):
        FileFacts.load(data)


def _plain(facts: FileFacts) -> object:
    functions = [facts.function(number)[:9] for number in range(len(facts._raw[3]))]
    bodies = [
        [sorted(part) if part and isinstance(part[0], str) else part for part in facts.body(number)[:6]]
        for number in range(len(facts._raw[3]))
    ]
    return functions, bodies, sorted(facts.names.items()), facts.klass(0), facts.imports, facts.constants


EXPECTED_VERSION = 211
EXPECTED_DIGEST = "6757c16c4dd8a3a1"
