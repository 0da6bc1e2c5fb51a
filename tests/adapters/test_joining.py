"""Calls of several threads become one, and nobody waits for somebody who won't come."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from ddtree_ops.adapters import joining
from ddtree_ops.adapters.joining import Joiner

SECONDS = 60.0


def threads(*works: Callable[[], None]) -> None:
    """Run all at the same time, to their ends."""
    started = [threading.Thread(target=work) for work in works]
    for one in started:
        one.start()
    for one in started:
        one.join(SECONDS)
        assert not one.is_alive()


def test_members_at_work_are_done_together() -> None:
    done: list[tuple[str, list[int]]] = []
    joiner: Joiner[str, int] = Joiner(lambda key, items: done.append((key, sorted(items))))
    for name in "abc":
        joiner.enter(name)
    threads(*(partial(joiner.call, "stage", name, number) for number, name in enumerate("abc")))
    assert done == [("stage", [0, 1, 2])]


def test_other_keys_are_other_calls() -> None:
    done: list[str] = []
    joiner: Joiner[str, int] = Joiner(lambda key, _items: done.append(key))
    joiner.enter("a")
    joiner.enter("b")
    threads(lambda: joiner.call("stage", "a", 1), lambda: joiner.call("switch", "b", 2))
    assert sorted(done) == ["stage", "switch"]


def test_one_alone_never_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "QUIET_SECONDS", SECONDS)
    joiner: Joiner[str, int] = Joiner(lambda _key, _items: None)
    start = time.monotonic()
    joiner.call("commit", "nobody spoke of it", 1)
    joiner.enter("a")
    joiner.call("commit", "a", 1)
    assert time.monotonic() - start < SECONDS


def test_a_member_that_does_something_else_is_waited_for_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "QUIET_SECONDS", 0.05)
    done: list[Sequence[int]] = []
    joiner: Joiner[str, int] = Joiner(lambda _key, items: done.append(items))
    joiner.enter("a")
    joiner.enter("loads a model")
    joiner.call("commit", "a", 1)
    assert done == [(1,)]


def test_a_member_that_leaves_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "QUIET_SECONDS", SECONDS)
    joiner: Joiner[str, int] = Joiner(lambda _key, _items: None)
    joiner.enter("a")
    joiner.enter("b")
    start = time.monotonic()
    threads(lambda: joiner.call("stage", "a", 1), lambda: joiner.leave("b"))
    assert time.monotonic() - start < SECONDS


def test_a_member_inside_another_call_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "QUIET_SECONDS", SECONDS)
    inside, free = threading.Event(), threading.Event()

    def work(key: str, _items: Sequence[int]) -> None:
        if key == "stage":
            inside.set()
            assert free.wait(SECONDS)

    joiner: Joiner[str, int] = Joiner(work)
    joiner.enter("a")

    def second() -> None:
        assert inside.wait(SECONDS)
        joiner.enter("b")
        joiner.call("commit", "b", 2)
        free.set()

    threads(lambda: joiner.call("stage", "a", 1), second)


def test_what_the_work_raises_reaches_every_caller() -> None:
    def work(_key: str, _items: Sequence[int]) -> None:
        raise OSError("no space")

    joiner: Joiner[str, int] = Joiner(work)
    joiner.enter("a")
    joiner.enter("b")
    raised: list[str] = []

    def call(name: str) -> None:
        try:
            joiner.call("stage", name, 1)
        except OSError as error:
            raised.append(f"{name}: {error}")

    threads(lambda: call("a"), lambda: call("b"))
    assert sorted(raised) == ["a: no space", "b: no space"]
