"""Programs on a host that answer what they never should: one clear error, and at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import pytest

from ddtree_ops.errors import DdtreeOpsError, HostCommandFailed, Locked, Refused
from ddtree_ops.flows import lock, model_check
from ddtree_ops.ports import Command, Completed, Operator, Stream

DEEP = b"[" * 100_000 + b"\n"


@dataclass
class Says:
    """A Shell whose every stream says this and ends."""

    said: bytes
    host: str = "h"

    def run(self, command: Command) -> Completed:
        raise NotImplementedError

    @contextmanager
    def stream(self, argv: tuple[str, ...]) -> Iterator[Stream]:
        yield self

    def chunks(self) -> Iterator[bytes]:
        yield self.said

    def send(self, data: bytes) -> None:
        pass

    def close(self) -> None:
        pass


def line(document: Any) -> bytes:
    return json.dumps(document).encode() + b"\n"


def progress(**other: Any) -> bytes:
    return line({"progress": {"model": "m", "done": 1, "total": 2, "files": 0, "of": 1, **other}})


def answer(**other: Any) -> bytes:
    return line({"findings": [], "checked": 1, "remembered": 0, "bytes": 1, "seconds": 0.1, **other})


LOCKS = [b"[1]\n", b"3\n", DEEP, b"", b"hello\n", line({"locked": "yes"}), line({"locked": None}), line({})]


@pytest.mark.parametrize("said", LOCKS, ids=range(len(LOCKS)))
@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_lock_program_without_an_answer(said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "ANSWER_SECONDS", 5.0)
    held = lock.held(Says(said), Operator("u", "c", 1, "x"))
    with pytest.raises(HostCommandFailed, match=r"^h: the lock can't be taken: it ended without an answer$"), held:
        pass


HOLDERS = [[1], 3, "x", None, {}, {"user": "\x1b[31m\u202e", "pid": "\x1b]0;x\a", "command": ["x" * 10_000], "since": {"a": 1}}]


@pytest.mark.parametrize("holder", HOLDERS, ids=range(len(HOLDERS)))
@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_holder_of_an_odd_shape(holder: object) -> None:
    with pytest.raises(Locked) as caught, lock.held(Says(line({"locked": False, "holder": holder})), Operator("u", "c", 1, "x")):
        pass
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 1000
    assert threading.active_count() < 20


ODD = {
    "empty": line({}),
    "progress is a list": line({"progress": [1]}),
    "progress of odd types": progress(done="x", total=None, model=1),
    "NaN": b'{"progress": {"model": "m", "done": NaN, "total": 1e400}}\n',
    "negative": progress(done=-1),
    "too large": progress(done=10**400),
    "truth": progress(done=True),
    "findings is text": answer(findings="x"),
    "a bare finding": answer(findings=[{"severity": "error"}]),
    "an empty finding": answer(findings=[{}]),
    "fix is a number": answer(findings=[{"severity": "error", "path": "p", "problem": "b", "fix": 3}]),
    "nothing else": line({"findings": []}),
    "seconds is text": answer(seconds="x"),
    "seconds without end": b'{"findings": [], "checked": 1, "remembered": 0, "bytes": 1, "seconds": Infinity}\n',
    "list": b"[1]\n",
    "deep": DEEP,
    "deep in it": b'{"findings":' + DEEP,
    "garbage": b"hello\n",
    "nothing": b"",
    "without end": b"x" * (5 << 20),
}


@dataclass
class Still:
    def monotonic(self) -> float:
        return 0.0


@dataclass
class Inputs:
    model_manifests: tuple[Any, ...] = ()


@dataclass
class Wanted:
    inputs: Inputs


def check(said: bytes) -> str:
    return model_check.check_models(Says(said), cast(Any, Still()), cast(Any, Wanted(Inputs())), lambda _news: None)


@pytest.mark.parametrize("said", ODD.values(), ids=ODD.keys())
def test_a_check_of_models_that_answers_oddly(said: bytes) -> None:
    words = r"^h: the (models' files can't be checked: |check of the models' files ended)"
    with pytest.raises(DdtreeOpsError, match=words) as caught:
        check(said)
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 400


def test_text_of_a_check_is_shown_without_what_a_terminal_obeys() -> None:
    finding = {"severity": "error", "path": "\x1b[31mp\udc80", "problem": "b\n\u202e", "fix": "f"}
    with pytest.raises(Refused, match=r"^h: \[31mp b$|^h: p b$"):
        check(progress() + answer(findings=[finding]))


def test_more_read_than_there_was() -> None:
    assert check(progress(done=4, total=2) + answer()) == "1 files (1 B) read in 0.1 s"
