"""How a directory becomes a release: the real renames, locks and processes."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.roles.staging import part

swap: Any = part("swap")
drift: Any = part("drift")
fence: Any = part("fence")
lock: Any = part("lock")
problem: Any = part("problem")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def directory(path: Path, content: str) -> Path:
    path.mkdir()
    (path / "content").write_text(content)
    return path


@pytest.mark.processes
def test_a_new_release(tmp_path: Path) -> None:
    staging = directory(tmp_path / ".staging-a", "new")
    assert swap.publish(staging, tmp_path / "a", fence.Fence()) is None
    assert (tmp_path / "a" / "content").read_text() == "new"
    assert names(tmp_path) == ["a"]


@pytest.mark.processes
@pytest.mark.parametrize("atomic", [True, False])
def test_a_damaged_release_changes_places_with_its_successor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, atomic: bool
) -> None:
    if not atomic:  # what a file system says that can't
        monkeypatch.setattr(swap, "_EXCHANGE", 1 << 20)
    release = directory(tmp_path / "a", "old")
    held = (release / "content").open()
    former = swap.publish(directory(tmp_path / ".staging-a", "new"), release, fence.Fence())
    assert (release / "content").read_text() == "new"
    assert (former / "content").read_text() == "old"
    assert names(tmp_path) == [".replaced-a-1", "a"]
    assert held.read() == "old"
    held.close()


@pytest.mark.processes
def test_at_no_time_is_there_no_release(tmp_path: Path) -> None:
    release = directory(tmp_path / "a", "old")
    staging = directory(tmp_path / ".staging-a", "new")
    watch = "import os, sys\nprint('up', flush=True)\nwhile not os.path.exists(sys.argv[2]): os.stat(sys.argv[1])"
    stop = tmp_path / "stop"
    argv = (sys.executable, "-c", watch, str(release / "content"), str(stop))
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as watcher:
        assert watcher.stdout is not None
        watcher.stdout.readline()
        for _ in range(2000):
            swap.exchange(staging, release)
        stop.touch()
        assert watcher.wait(timeout=60) == 0


@pytest.mark.processes
def test_leftovers_go_unless_a_process_works_in_them(tmp_path: Path) -> None:
    for name in (".staging-a", ".staging-b", ".replaced-c-1", ".replaced-d-1", "kept"):
        directory(tmp_path / name, name)
    (tmp_path / ".staging-file").write_text("")
    processes = [
        subprocess.Popen(("cat",), cwd=tmp_path / name, stdin=subprocess.PIPE) for name in (".staging-b", ".replaced-d-1")
    ]
    try:
        gone = swap.clear_leftovers(tmp_path)
        assert gone == [".replaced-c-1", ".staging-a", ".staging-file"]
        assert names(tmp_path) == [".replaced-b-1", ".replaced-d-1", "kept"]
    finally:
        for process in processes:
            process.communicate()
    assert swap.clear_leftovers(tmp_path) == [".replaced-b-1", ".replaced-d-1"]


@pytest.mark.processes
def test_the_lock_stays_with_a_child_that_outlives_the_run(tmp_path: Path) -> None:
    with lock.staging_lock(tmp_path) as descriptor:
        child = subprocess.Popen(("cat",), stdin=subprocess.PIPE, pass_fds=(descriptor,))
    with pytest.raises(problem.Problem, match=f"pid {os.getpid()}"), lock.staging_lock(tmp_path, wait=0.3):
        pass
    child.communicate()
    with lock.staging_lock(tmp_path, wait=0):
        pass


def listed(release: Path) -> Path:
    status = (release / "content").stat()
    (release / "link").symlink_to("content")
    stat = {"content": [status.st_size, status.st_mtime_ns, status.st_ino]}
    (release / "files.json").write_text(json.dumps({"stat": stat, "links": {"link": "content"}}))
    (release / "manifest.json").write_text(json.dumps({"id": release.name, "files_listed": True}))
    return release


def edit(release: Path) -> None:
    (release / "content").write_text("another")


def replace(release: Path) -> None:
    status = (release / "content").stat()
    (release / "new").write_text("old")
    os.utime(release / "new", ns=(status.st_atime_ns, status.st_mtime_ns))
    (release / "new").rename(release / "content")


def remove(release: Path) -> None:
    (release / "content").unlink()


def lead_elsewhere(release: Path) -> None:
    (release / "link").unlink()
    (release / "link").symlink_to("/etc")


def empty_manifest(release: Path) -> None:
    (release / "manifest.json").write_text("")


def manifest_of_another(release: Path) -> None:
    (release / "manifest.json").write_text('{"id": "b"}')


def cut_list(release: Path) -> None:
    (release / "files.json").write_bytes((release / "files.json").read_bytes()[:-5])


def no_manifest(release: Path) -> None:
    (release / "manifest.json").unlink()


DAMAGES = (edit, replace, remove, lead_elsewhere, empty_manifest, manifest_of_another, cut_list, no_manifest)


@pytest.mark.parametrize("harm", DAMAGES, ids=lambda harm: harm.__name__)
def test_damage_is_seen(tmp_path: Path, harm: Any) -> None:
    release = listed(directory(tmp_path / "a", "old"))
    assert drift.damage(release) == []
    harm(release)
    assert len(drift.damage(release)) == 1


def test_a_release_from_before_there_were_lists_is_left_alone(tmp_path: Path) -> None:
    release = directory(tmp_path / "a", "old")
    (release / "manifest.json").write_text('{"id": "a"}')
    assert drift.damage(release) == []


def test_credentials_of_urls_and_a_full_disk_in_messages() -> None:
    told = problem.Problem("no", ("GET https://me:secret@index.example/simple", "No space left on device (os error 28)"))
    assert told.lines[0] == "GET https://***@index.example/simple"
    assert problem.is_full(told)
    assert problem.is_full(OSError(errno.EDQUOT, "quota"))
    assert not problem.is_full(OSError(errno.EIO, "input"))


@pytest.mark.processes
@pytest.mark.parametrize("content", ['{"token": "other"}', "", "[" * 60_000, "[1]", "\0", None])
@pytest.mark.parametrize("there", [True, False])
def test_a_controller_that_lost_its_lock_swaps_nothing_in(tmp_path: Path, content: str | None, there: bool) -> None:
    if content is None:
        os.mkfifo(tmp_path / "lock")
    else:
        (tmp_path / "lock").write_text(content)
    staging = directory(tmp_path / ".staging-a", "new")
    if there:
        directory(tmp_path / "a", "old")
    with pytest.raises(problem.Problem, match="lock was lost"):
        swap.publish(staging, tmp_path / "a", fence.Fence("mine", tmp_path / "lock"))
    assert names(tmp_path) == [".staging-a", *(["a"] if there else []), "lock"]
    assert not there or (tmp_path / "a" / "content").read_text() == "old"


@pytest.mark.processes
def test_a_controller_that_holds_its_lock_swaps(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text('{"token": "mine"}')
    directory(tmp_path / "a", "old")
    swap.publish(directory(tmp_path / ".staging-a", "new"), tmp_path / "a", fence.Fence("mine", tmp_path / "lock"))
    assert (tmp_path / "a" / "content").read_text() == "new"


@pytest.mark.parametrize("name", ["manifest.json", "files.json"])
@pytest.mark.parametrize("content", ["[" * 60_000, "[]", "\0"])
def test_a_release_with_a_spoilt_list_is_damaged(tmp_path: Path, name: str, content: str) -> None:
    release = directory(tmp_path / "a", "x")
    (release / "manifest.json").write_text(json.dumps({"id": "a", "files_listed": True}))
    (release / "files.json").write_text(json.dumps({"stat": {}, "links": {}}))
    assert drift.damage(release) == []
    (release / name).write_text(content)
    (found,) = drift.damage(release)
    assert found.startswith(f"{name}: ")


def test_files_of_the_cache_are_set_right(tmp_path: Path) -> None:
    (tmp_path / "archive-v0" / "x").mkdir(parents=True)
    file = tmp_path / "archive-v0" / "x" / "a.py"
    file.write_text("a")
    file.chmod(0o600)
    before = file.stat().st_mtime_ns
    cache: Any = part("cache")
    assert cache.make_ready(tmp_path) == 1
    assert (file.stat().st_mode & 0o7777, file.stat().st_mtime_ns) == (0o644, before)
    assert cache.make_ready(tmp_path) == 0
