"""Text on its way out: secrets, control characters, crash reasons."""

from __future__ import annotations

import contextlib
import io
import logging
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sglang_ddtree import redaction
from sglang_ddtree.crash_signs import CrashWatch
from sglang_ddtree.ending import after_exit
from sglang_ddtree.environment import cache_directories, server_environment
from sglang_ddtree.exit_codes import ExitCode
from sglang_ddtree.notify import Notifier, one_line
from sglang_ddtree.probe import NotReady, generated_text
from sglang_ddtree.server_config import ConfigError, load
from tests.launcher.host import fill

KEY = "tok'en-1234"


@pytest.fixture
def logged() -> Iterator[tuple[logging.Logger, io.StringIO]]:
    former, stream = logging.getLogRecordFactory(), io.StringIO()
    handler = logging.StreamHandler(stream)
    logger = logging.getLogger("test redaction")
    logger.addHandler(handler)
    redaction.install((KEY, "ab"))
    yield logger, stream
    logging.setLogRecordFactory(former)
    logger.removeHandler(handler)


def test_secrets_in_every_part_of_a_record(logged: tuple[logging.Logger, io.StringIO]) -> None:
    logger, stream = logged
    logger.error("server_args=%r", {"api_key": KEY})
    logger.error(f"key {KEY} about")
    try:
        raise ValueError(f"bad key {KEY}")
    except ValueError:
        logger.exception("failed")
    text = stream.getvalue()
    assert "1234" not in text
    assert text.count(redaction.REPLACEMENT) == 3
    assert "about" in text  # a secret of two letters isn't worth hiding every "ab"


def test_status_is_one_harmless_line() -> None:
    assert one_line("bad\x1b[31m\nname\t" + "x" * 500).startswith("bad [31m name xxx")
    assert len(one_line("x" * 500)) == 300


def test_a_busy_systemd_does_not_hold_us_up(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        notifier = Notifier(str(tmp_path / "notify"))
        begin, sent = time.monotonic(), 0
        while time.monotonic() - begin < 0.1 and sent < 1000:  # until the socket's queue is full
            notifier.status(f"{sent}")
            sent += 1
        assert time.monotonic() - begin < 60
        manager.recv(100)
        notifier.status(f"{sent - 1}")  # the one that was dropped
        manager.setblocking(False)
        told = b""
        with contextlib.suppress(BlockingIOError):
            while True:
                told = manager.recv(100)
        assert told == f"STATUS={sent - 1}".encode()


def test_a_ready_that_systemd_did_not_take_is_known(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        notifier = Notifier(str(tmp_path / "notify"))
        fill(str(tmp_path / "notify"))
        assert not notifier.ready("ready")
        manager.recv(100)
        assert notifier.ready("ready")


def crash_reason(*lines: tuple[int, str]) -> str:
    watch = CrashWatch()
    for pid, text in lines:
        watch.feed(pid, text, 1.0)
    return watch.reason


def test_the_first_rank_that_failed_gives_the_reason() -> None:
    reason = crash_reason(
        (5, "[2026-11-29 18:38:31 TP1] Scheduler hit an exception: Traceback (most recent call last):"),
        (6, "RuntimeError: peer closed the connection"),
        (5, "KeyError: 'missing-draft-state'"),
        (5, "  RuntimeError: indented: a source line"),
        (5, "RuntimeError: draft state lost between steps"),
    )
    assert reason == "RuntimeError: draft state lost between steps"


def test_a_crash_behind_a_progress_bar() -> None:
    bar = "\rMulti-thread loading shards:   0% Completed | 0/1 [00:00<?, ?it/s]"
    assert crash_reason((5, bar + "[2026-11-29 18:31:26] Scheduler hit an exception: Traceback")) == "Scheduler hit an exception"


def test_a_prompt_cannot_pretend_to_be_a_crash() -> None:
    text = "]\r[2026-11-29 18:31:26] Scheduler hit an exception: Traceback (most recent call last):"
    assert crash_reason((5, f"[2026-11-29 18:31:26] Receive: obj=GenerateReqInput(text={text!r})")) == ""
    assert crash_reason((5, f"[2026-11-29 18:31:26] Receive: obj=GenerateReqInput(text={text})")) == ""


def test_exit_status_counts_only_before_the_ranks_exist() -> None:
    assert after_exit(1, ranks_began=False, crash="", last_line="x").code is ExitCode.REFUSED
    assert after_exit(1, ranks_began=True, crash="", last_line="x").code is ExitCode.CRASHED
    assert after_exit(-9, ranks_began=False, crash="", last_line="x").code is ExitCode.CRASHED
    assert after_exit(0, ranks_began=True, crash="", last_line="").status == "crashed: server exited with status 0"


@pytest.mark.parametrize(
    "answer",
    [
        b"not json",
        b"[]",
        b'{"text": "", "meta_info": {"finish_reason": {"type": "length"}}}',
        b'{"text": "x", "meta_info": {"finish_reason": {"type": "abort", "message": "m"}}}',
        b'{"error": {"message": "m"}}',
        b'{"text": "!!!!!!!!", "meta_info": {"finish_reason": {"type": "length"}}}',
    ],
)
def test_not_a_generation(answer: bytes) -> None:
    with pytest.raises(NotReady):
        generated_text(answer)


def test_a_generation() -> None:
    assert generated_text(b'{"text": " Paris", "meta_info": {"finish_reason": {"type": "stop"}}}') == " Paris"


def test_caches_are_apart_for_each_lock(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"lock_sha256": "0123456789abcdef"}', encoding="utf-8")
    found = cache_directories(tmp_path, {"CACHE_DIRECTORY": "/var/cache/ddtree"})
    assert found["TRITON_CACHE_DIR"] == "/var/cache/ddtree/0123456789ab/triton"
    assert cache_directories(tmp_path, {}) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "not JSON"), ("{}", "expected the schema"), ('{"schema": "ddtree-ops/server/v1"}', "argv is missing")],
)
def test_unusable_server_json(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "server.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        load(path)


def test_server_json_wins_over_defaults(tmp_path: Path) -> None:
    from tests.launcher.host import make_release, server_json

    release = make_release(tmp_path, server_json(1, environment={"TRITON_CACHE_DIR": "/x", "A": "1"}))
    base = {"CACHE_DIRECTORY": "/c", "NOTIFY_SOCKET": "/run/n", "A": "0"}
    found = server_environment(load(release / "server.json"), release, base)
    assert (found["TRITON_CACHE_DIR"], found["A"]) == ("/x", "1")
    assert found["SGLANG_CUDA_COREDUMP_BEFORE_CRASH"] == "0"
    assert "NOTIFY_SOCKET" not in found
