"""Damaged files of a host: a dead-man's orders that can't be read, a lock file, releases and audit lines of odd shapes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ddtree_host import committing, deadman, durable, lock, orders, pruning, switching, units
from ddtree_host.fence import HostError, fenced
from ddtree_host.places import Places
from ddtree_ops import assets

DEEP = "[" * 100_000
ORDER: dict[str, Any] = {
    "release": "new",
    "port": 30000,
    "back_to": "old",
    "after_s": 1,
    "armed_at": "2026-11-30T01:02:03Z",
    "boot_id": "another boot",
    "deadline": 0.0,
    "invocation": "",
    "by": "anna@laptop",
    "schema": orders.SCHEMA,
}
TEXT = json.dumps(ORDER)
HERE = {**ORDER, "boot_id": orders.boot_id()}
DAMAGED = {
    "empty": "",
    "torn": TEXT[:60],
    "NUL": "\0" * 200,
    "list": "[]",
    "not UTF-8": b"\xff\xfe{",
    "deep": DEEP,
    "extra key": json.dumps({**ORDER, "x": 1}),
    "missing key": json.dumps({key: value for key, value in ORDER.items() if key != "by"}),
    "another schema": json.dumps({**ORDER, "schema": "x"}),
    "time is text": json.dumps({**ORDER, "after_s": "x"}),
    "time is truth": json.dumps({**ORDER, "after_s": True}),
    "time is without end": json.dumps({**ORDER, "after_s": 10**400}),
    "deadline null": json.dumps({**HERE, "deadline": None}),
    "deadline infinite": json.dumps({**HERE, "deadline": float("inf")}),
    "deadline NaN": json.dumps({**HERE, "deadline": float("nan")}),
    "deadline huge": json.dumps({**HERE, "deadline": 10**400}),
    "deadline far away": json.dumps({**HERE, "deadline": 1e300}),
    "port is text": json.dumps({**ORDER, "port": "30000; x"}),
    "port is truth": json.dumps({**ORDER, "port": True}),
    "back_to is a list": json.dumps({**ORDER, "back_to": ["old"]}),
    "back_to leads out": json.dumps({**ORDER, "back_to": "../../etc"}),
    "release is a list": json.dumps({**ORDER, "release": [1]}),
}


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    """Release `new` is current, `old` was good; systemd knows of no unit."""
    monkeypatch.setattr(units, "systemctl", lambda *_words, **_: "")
    made = Places(tmp_path / "opt", tmp_path / "var", tmp_path / "etc/system", tmp_path / "run")
    for path in (made.releases, made.state, made.units):
        path.mkdir(parents=True)
    for name in ("old", "new"):
        (made.releases / name).mkdir()
        (made.releases / name / "server.json").write_text('{"port": 30000}')
        (made.releases / name / "manifest.json").write_text(json.dumps({"created": name}))
        (made.releases / name / "ddtree-server@.service").write_text("[Unit]\n")
    durable.link(made.root / "current", "releases/new")
    durable.link(made.root / "last-good", "releases/old")
    return made


def put(path: Path, content: str | bytes) -> None:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def audited(places: Places) -> list[dict[str, Any]]:
    return [json.loads(line) for line in places.audit.read_text().splitlines()]


def test_sound_orders_are_read(places: Places) -> None:
    put(places.deadman, TEXT)
    assert orders.read(places) == orders.Record(**ORDER)
    assert deadman.fire(places) == "new was not committed in 1 s: old is started again"


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED.keys())
def test_damaged_orders_lead_back_to_the_last_good_release(places: Places, content: str | bytes) -> None:
    put(places.deadman, content)
    said = deadman.fire(places)
    assert said.startswith(f"{places.deadman} is damaged (")
    assert said.endswith("new was not committed: old is started again")
    assert len(said) < 500
    assert places.linked("current") == "old"
    (line,) = audited(places)
    assert (line["event"], line["release"], line["back_to"], line["result"]) == ("dead-man", "new", "old", said)
    assert not places.deadman.exists()
    put_aside = places.deadman.with_name("deadman.json.damaged").read_bytes()
    assert put_aside == (content if isinstance(content, bytes) else content.encode()), "what it said can still be looked at"


@pytest.mark.parametrize("kind", ["directory", "pipe", "dangling link"])
def test_orders_that_are_no_file_are_damaged_as_well(places: Places, kind: str) -> None:
    if kind == "directory":
        places.deadman.mkdir()
    elif kind == "pipe":
        os.mkfifo(places.deadman)
    else:
        places.deadman.symlink_to("nowhere")
    assert "is damaged" in deadman.fire(places)
    assert places.linked("current") == "old"
    assert not os.path.lexists(places.deadman)


@pytest.mark.parametrize("good", [None, "new", "gone", "old"])
def test_damaged_orders_never_stop_what_has_no_alternative(places: Places, good: str | None) -> None:
    places.deadman.touch()
    (places.root / "last-good").unlink()
    if good:
        durable.link(places.root / "last-good", f"releases/{good}")
    if good == "old":
        put(places.releases / "old/server.json", DEEP)
    said = deadman.fire(places)
    assert "is damaged" in said
    assert "committed or undone" not in said
    assert places.linked("current") == "new"
    assert places.linked("last-good") == good


def test_a_target_that_is_gone_is_replaced_by_the_last_good_release(places: Places) -> None:
    put(places.deadman, json.dumps({**ORDER, "back_to": "gone"}))
    assert deadman.fire(places) == "new was not committed in 1 s: old is started again"
    assert audited(places)[0]["back_to"] == "old"


def test_a_full_disk_doesnt_keep_the_dead_man_from_ending(places: Places) -> None:
    put(places.deadman, TEXT)
    places.audit.mkdir()
    assert "old is started again" in deadman.fire(places)
    assert not places.deadman.exists()


LINES = {
    "deep": DEEP,
    "odd types": '3\n"x"\nnull\n{"event":"commit","release":[1]}',
    "not UTF-8": b"\xff",
    "NUL": "\0",
    "digits": "9" * 5000,
}


@pytest.mark.parametrize("content", LINES.values(), ids=LINES.keys())
def test_odd_audit_lines_are_passed_over(places: Places, content: str | bytes) -> None:
    put(places.audit, content)
    assert committing.commit(places, "new", 30000, 0, {}) == committing.Committed(True, ("old",), ())
    assert places.linked("last-good") == "new"


def test_a_commit_that_is_recorded_never_fails_for_want_of_pruning(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr(pruning, "prune", fail)
    done = committing.commit(places, "new", 30000, 0, {})
    assert (done.changed, done.pruned) == (True, ())
    assert done.warnings == ("old releases were not removed: RecursionError: too deep",)
    assert places.linked("last-good") == "new"


def test_only_directories_are_releases(places: Places, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "manifest.json").write_text('{"created": "0"}')
    (places.releases / "link").symlink_to(elsewhere)
    (places.releases / ".staging-x").symlink_to("nowhere")
    (places.releases / ".removing-y").symlink_to(elsewhere)
    (places.releases / ".removing-z").touch()
    (places.releases / "deep").mkdir()
    (places.releases / "deep/manifest.json").write_text(DEEP)
    os.mkfifo(places.releases / "pipe")
    assert pruning.prune(places, 0) == ()
    found = sorted(path.name for path in places.releases.iterdir())
    assert found == [".staging-x", "deep", "link", "new", "old", "pipe"]
    assert (elsewhere / "manifest.json").exists()


@pytest.mark.parametrize("settings", [DEEP, '{"port": true}', '{"port": 70000}', '{"port": "30000"}', "[]"])
def test_a_release_without_usable_settings_is_none(places: Places, settings: str) -> None:
    put(places.releases / "old/server.json", settings)
    with pytest.raises(HostError, match="there is no release old"):
        switching.port_of(places, "old")


def test_a_pipe_in_place_of_a_file_is_never_waited_for(places: Places) -> None:
    os.mkfifo(places.state / "pipe")
    assert durable.read(places.state / "pipe") is None
    assert durable.write(places.state / "pipe", "text")
    assert (places.state / "pipe").read_text() == "text"


@pytest.mark.parametrize("content", [DEEP, '{"token": "other", "user": {"a": 1}, "pid": "\\u001b[31m"}'])
def test_a_damaged_lock_file_doesnt_let_an_old_holder_through(places: Places, content: str) -> None:
    put(places.lock, content)
    with pytest.raises(HostError, match="lost") as caught, fenced(places, "token", "x"):
        pass
    assert str(caught.value).isprintable()


def program(state: Path, said: bytes = b'{"event": "deploy"}\n') -> subprocess.CompletedProcess[bytes]:
    wanted = {"user": "u", "controller": "c", "pid": 1, "command": "x", "token": "t", "break": True, "state": str(state)}
    argv = (sys.executable, "-I", "-c", assets.host_program("lock").read_text(), json.dumps(wanted))
    return subprocess.run(argv, input=said, capture_output=True, timeout=60, check=False)


FILES = ["", "{", DEEP[:60_000], b"\xff\xfe", "\0" * 100, "[1]", '{"token":["t"]}', '{"holder_pid":1e400}', "9" * 60_000]


@pytest.mark.processes
@pytest.mark.parametrize("content", FILES, ids=range(len(FILES)))
def test_a_damaged_lock_can_be_taken(tmp_path: Path, content: str | bytes) -> None:
    put(tmp_path / "lock", content)
    done = program(tmp_path)
    assert (done.returncode, done.stdout) == (0, b'{"locked": true}\n{"ended": true, "recorded": true}\n'), done.stderr


@pytest.mark.processes
@pytest.mark.parametrize("kind", ["directory", "pipe"])
def test_a_lock_that_is_no_file_is_said_in_one_line(tmp_path: Path, kind: str) -> None:
    if kind == "directory":
        (tmp_path / "lock").mkdir()
    else:
        os.mkfifo(tmp_path / "lock")
    done = program(tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == f"{tmp_path}/lock is no regular file, remove it\n"


@pytest.mark.processes
@pytest.mark.parametrize("said", [DEEP.encode() + b"\n", b"3\n", b'{"a":\n', b"x" * 3_000_000 + b"\n", b'{"self": 1}\n'])
def test_odd_last_words_end_it_without_a_traceback(tmp_path: Path, said: bytes) -> None:
    done = program(tmp_path, said)
    assert (done.returncode, done.stderr) == (0, b"")
    assert lock.parse((tmp_path / "audit.jsonl").read_bytes().splitlines()[-1]) is not None
