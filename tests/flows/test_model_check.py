"""The check of the models' files: the real program, run by a shell that is this machine."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any, cast

import pytest

from ddtree_ops.errors import DdtreeOpsError, HostCommandFailed, Refused, ServerStalled
from ddtree_ops.fleet import places
from ddtree_ops.fleet.model_manifest import ModelManifest
from ddtree_ops.flows import model_check
from ddtree_ops.flows.progress import LoadNews, News
from ddtree_ops.ports import Command, Completed, Stream

pytestmark = pytest.mark.processes


@dataclass
class Local:
    """A Shell whose streams are programs of this machine."""

    host: str = "here"

    def run(self, command: Command) -> Completed:
        raise NotImplementedError

    @contextmanager
    def stream(self, argv: tuple[str, ...]) -> Iterator[Stream]:
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
            try:
                yield Pipes(process)
            finally:
                process.kill()


@dataclass
class Pipes:
    process: subprocess.Popen[bytes]

    def chunks(self) -> Iterator[bytes]:
        assert self.process.stdout is not None
        while data := self.process.stdout.read(7):
            yield data
        if self.process.wait():
            raise HostCommandFailed("`python3 -c import secret` ended with exit code 1: Traceback\nValueError: no")

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def close(self) -> None:
        self.process.kill()


class Frozen(Local):
    """Says its first progress over and over: a read that hangs in the kernel needs a broken disk."""

    @contextmanager
    def stream(self, argv: tuple[str, ...]) -> Iterator[Stream]:
        with super().stream(argv) as real:
            yield cast(Any, FirstLine(cast(Any, real).process))


class FirstLine(Pipes):
    def chunks(self) -> Iterator[bytes]:
        assert self.process.stdout is not None
        yield from repeat(self.process.stdout.readline())


@dataclass
class Ticks:
    """Every look at it is `step` seconds later."""

    step: float = 0.1
    now: float = 0.0

    def monotonic(self) -> float:
        self.now += self.step
        return self.now


@dataclass
class Inputs:
    model_manifests: tuple[ModelManifest, ...]


@dataclass
class Wanted:
    inputs: Inputs


@dataclass
class Told:
    news: list[News] = field(default_factory=list)

    def __call__(self, news: News) -> None:
        self.news.append(news)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(places, "MODELS", str(tmp_path / "memory"))
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("a.safetensors", "b.safetensors"):
        (folder / name).write_bytes(name.encode() * 1000)
    return folder


def check(model: Path, told: Told, step: float = 0.1, shell: Local | None = None) -> str:
    digests = {name: hashlib.sha256(name.encode() * 1000).hexdigest() for name in ("a.safetensors", "b.safetensors")}
    release = cast(Any, Wanted(Inputs((ModelManifest(str(model), text=json.dumps(digests)),))))
    return model_check.check_models(cast(Any, shell or Local()), Ticks(step), release, told)


def test_progress_the_first_time_and_nothing_to_read_the_second(model: Path) -> None:
    told = Told()
    assert check(model, told).startswith("2 files (26.0 kB) read in")
    (first,) = (news for news in told.news if isinstance(news, LoadNews))
    assert first.waiting.segment.endswith(" of 26.0 kB")
    assert check(model, Told()) == "2 files known"


def test_a_corrupted_model_is_refused_with_its_files(model: Path) -> None:
    for name in ("a.safetensors", "b.safetensors"):
        (model / name).write_bytes(b"x" * 13000)
    with pytest.raises(Refused, match=r"^here: .*safetensors is corrupted: .* \(and 1 files more\)$") as caught:
        check(model, Told())
    assert caught.value.hint is not None
    assert len(caught.value.evidence) == 1


def test_a_disk_that_gives_nothing_is_said(model: Path) -> None:
    with (model / "a.safetensors").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(ServerStalled, match="stands still for"):
        check(model, Told(), step=200, shell=Frozen())


def test_a_program_that_breaks_down_does_not_quote_itself(model: Path) -> None:
    (model.parent / "memory").write_text("a file where the memory should be")
    with pytest.raises(HostCommandFailed, match=r"^here: the models' files can't be checked: ValueError: no$"):
        check(model, Told())


def test_an_answer_that_ends_early(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pathlib.Path.read_text", lambda *_, **__: "input()")
    with pytest.raises(DdtreeOpsError, match="ended without an answer"):
        check(model, Told())


def test_sizes() -> None:
    assert [model_check.size(count) for count in (0, 999, 1000, 590 * 10**9, 10**16)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "590.0 GB",
        "10000.0 TB",
    ]
