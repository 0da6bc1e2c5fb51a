"""Files that commands write: refused before anything happens, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.test_commands import run

pytestmark = pytest.mark.processes

INIT = ("init", "--hardware", "b300-8x", "--host")


@pytest.mark.parametrize("file", ["", "/nonexist/x", "/proc/x", "{tmp}", "{tmp}/fifo", "/dev/null", "{tmp}/" + "x" * 300])
def test_where_no_baseline_can_be_written_is_said_before_the_host_is_asked(tmp_path: Path, file: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    host = "ansible_host: 127.0.0.1, ansible_port: 1, ddtree_hardware: b300-8x, ddtree_serving: {model: {path: /m}}"
    (tmp_path / "hosts.yml").write_text(f"all: {{hosts: {{a: {{{host}}}}}}}")
    done = run("smoke", "--host", "a", "-i", str(tmp_path / "hosts.yml"), "--record-gate", file.replace("{tmp}", str(tmp_path)))
    assert done.returncode == 2, done.stderr
    assert "record-gate" in done.stderr


@pytest.mark.parametrize("command", [("status",), ("plan",), ("deploy", "--yes")])
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_group_without_hosts(tmp_path: Path, command: tuple[str, ...], form: str) -> None:
    (tmp_path / "hosts.yml").write_text("all: {hosts: {a: }}\nempty: {}\n")
    done = run(*command, "--group", "empty", "-i", str(tmp_path), "--format", form)
    assert done.returncode == 2, done.stderr
    assert "hosts.yml:2: empty: the group has no hosts" in done.stderr


@pytest.mark.parametrize("path", ["", "x" * 300])
@pytest.mark.parametrize("command", [("status", "--host", "a", "-i"), (*INIT, "x", "-o")])
def test_paths_that_can_not_be(tmp_path: Path, command: tuple[str, ...], path: str) -> None:
    done = run(*command, path, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words", [("h" * 300,), ("h", "--address", "a" * 300), ("h", "--model", "/a\udcff"), ("h", "--model", "/a\nb")]
)
def test_a_failed_init_leaves_nothing(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run(*INIT, *words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert not list(tmp_path.iterdir())


def test_init_into_a_folder_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    assert run(*INIT, "x", "-o", str(tmp_path)).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "group_vars", "host_vars", "hosts.yml"]
    assert run("doctor", "-i", str(tmp_path)).returncode == 0


def test_init_that_fails_half_way_takes_back_what_it_wrote(tmp_path: Path) -> None:
    (tmp_path / "host_vars").write_text("a file where a folder must be")
    done = run(*INIT, "x", "-o", str(tmp_path))
    assert done.returncode == 2, done.stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "host_vars"]
