"""What a running server really uses: asked of itself, else read from its run's journal, never with a secret."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from ddtree_ops.errors import Unreachable
from ddtree_ops.flows.resolved_arguments import Resolved, ResolvedFrom, resolved
from ddtree_ops.ports import Command, Completed, HttpRequest, HttpResponse, Stream
from tests.flows.host_model import ModelShell, ModelStream
from tests.flows.test_deploy import server, serving_old

LINE = (
    "[2026-11-29 18:36:03] server_args=ServerArgs(model_path='/srv/m', tp_size=8, api_key='sk-1', cuda_graph_bs=[1, 2], "
    "mem_fraction_static=0.85, disable_cuda_graph=False, lora_paths=None, extra={'hf_token': 'hf_1', 'n': 1})"
)
INFO = {"tp_size": 2, "cuda_graph_bs": [1, 2], "admin_api_key": "sk-2", "extra": {"password": "x", "n": [{"secret": 1, "m": 2}]}}


@dataclass
class Answering:
    """HTTP with one answer; a server with a key answers 401 without it."""

    answer: HttpResponse | Exception
    key: str | None = None
    asked: list[HttpRequest] = field(default_factory=list)

    def request(self, request: HttpRequest) -> HttpResponse:
        self.asked.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer if request.bearer == self.key else HttpResponse(401, b"", 0.0)


@dataclass
class Journal(ModelShell):
    """A host whose journal holds these lines, and whose release has this key."""

    lines: tuple[str, ...] = ()
    key: str | None = None
    read: list[tuple[str, ...]] = field(default_factory=list)

    def run(self, command: Command) -> Completed:
        if self.key and command.argv[-1].endswith("/api_key"):
            return Completed(command, 0, f"{self.key}\n", "", 0.0)
        return super().run(command)

    @contextmanager
    def stream(self, argv: tuple[str, ...]) -> Iterator[Stream]:
        self.read.append(argv)
        head = "__CURSOR=s=1;i=2\n__REALTIME_TIMESTAMP=1796150163000000\n_PID=7\n"
        yield ModelStream("".join(f"{head}MESSAGE={line}\n\n" for line in self.lines).encode(), False)


def of(http: Answering, *lines: str, key: str | None = None, active: str = "active") -> tuple[Resolved, Journal]:
    shell = Journal(serving_old(active=active), lines, key)
    return resolved(replace(server(shell.model), shell=shell, http=http)), shell


def answer(document: object, status: int = 200) -> Answering:
    return Answering(HttpResponse(status, json.dumps(document).encode(), 0.0))


def test_the_server_is_asked_with_its_key_and_secrets_stay_there() -> None:
    http = replace(answer(INFO), key="sk-2")
    found, shell = of(http, LINE, key="sk-2")
    assert found.values == {"tp_size": 2, "cuda_graph_bs": [1, 2], "extra": {"n": [{"m": 2}]}}
    assert (found.source, found.why_not, shell.read) == (ResolvedFrom.SERVER_INFO, None, [])
    assert found.when
    assert found.when.tzinfo is UTC
    assert [(one.path, one.bearer) for one in http.asked] == [("/server_info", "sk-2")]


@pytest.mark.parametrize(
    ("http", "why"),
    [
        (answer({}, 401), "/server_info answered 401"),
        (Answering(HttpResponse(0, b"", 0.0)), "/server_info is not reachable: nothing listens"),
        (Answering(HttpResponse(0, b"", 0.0, "too long")), "too long"),
        (Answering(TimeoutError("x")), "/server_info did not answer in 5 s"),
        (Answering(HttpResponse(200, b"<html>", 0.0)), "/server_info answered something that is no JSON"),
        (Answering(HttpResponse(200, b"[" * 100_000, 0.0)), "/server_info answered something that is no JSON"),
        (answer([1]), "/server_info answered without arguments"),
    ],
)
def test_else_the_line_of_the_current_run_is_read(http: Answering, why: str) -> None:
    found, shell = of(http, "starting", LINE, LINE.replace("tp_size=8", "tp_size=4"))
    assert found.values["tp_size"] == 8
    assert found.values["mem_fraction_static"] == 0.85
    assert found.values["disable_cuda_graph"] is False
    assert found.values["extra"] == {"n": 1}
    assert "api_key" not in found.values
    assert (found.source, found.why_not) == (ResolvedFrom.LOG, why)
    assert found.when == datetime(2026, 12, 1, 18, 36, 3, tzinfo=UTC)
    assert "_SYSTEMD_INVOCATION_ID=run1" in shell.read[0]


def test_a_server_that_said_nothing_yet() -> None:
    found, _ = of(Answering(HttpResponse(0, b"", 0.0)), "starting")
    assert (found.values, found.source, found.when) == ({}, ResolvedFrom.NOWHERE, None)


def test_a_mapping_without_end_is_cut() -> None:
    deep: object = {"secret": "x"}
    for _ in range(50):
        deep = {"a": deep}
    found, _ = of(answer({"deep": deep}))
    assert "secret" not in json.dumps(found.values)


def test_a_lost_host_is_told() -> None:
    with pytest.raises(Unreachable):
        of(Answering(Unreachable("the connection was lost")), LINE)
