"""What changes releases on a host, on a directory that looks like one: links, credentials, pruning, the audit log."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from ddtree_host import committing, credentials, durable, lock, pruning, units
from ddtree_host.fence import HostError, fenced, held, told
from ddtree_host.places import Places


@pytest.fixture
def places(tmp_path: Path) -> Places:
    made = Places(tmp_path / "opt", tmp_path / "var", tmp_path / "etc/system", tmp_path / "run")
    for path in (made.releases, made.state, made.units):
        path.mkdir(parents=True)
    return made


def stage(places: Places, *names: str) -> None:
    for number, name in enumerate(names):
        (places.releases / name).mkdir()
        (places.releases / name / "manifest.json").write_text(
            json.dumps({"id": name, "created": f"2026-01-01T00:00:{number:02}Z"})
        )


def names(places: Places) -> list[str]:
    return sorted(path.name for path in places.releases.iterdir())


def test_a_link_is_replaced_by_one_rename_and_left_alone_when_right(places: Places) -> None:
    assert durable.link(places.root / "current", "releases/a")
    assert not durable.link(places.root / "current", "releases/a")
    (places.root / f".current.{os.getpid()}").symlink_to("left by a power cut")
    assert durable.link(places.root / "current", "releases/b")
    assert places.linked("current") == "b"


def test_a_torn_line_doesnt_take_the_next_one_with_it(places: Places) -> None:
    places.audit.write_text('{"event": "commit", "relea')
    lock.audit(str(places.audit), {"event": "commit", "release": "a"})
    assert pruning.committed(places) == ("a",)


def test_the_audit_log_is_bounded(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "AUDIT_BYTES", 1000)
    for number in range(100):
        lock.shorten(str(places.audit))
        lock.audit(str(places.audit), {"event": "commit", "release": f"r{number}"})
    assert sum(path.stat().st_size for path in places.state.glob("audit*")) < 3000
    assert json.loads(places.audit.read_text().splitlines()[-1])["release"] == "r99"
    assert len(pruning.committed(places)) > len(places.audit.read_text().splitlines()), "the file before counts, too"


def test_prune_keeps_current_last_good_and_those_that_were_good_last(places: Places) -> None:
    stage(places, "a", "b", "c", "d", "e", "f")
    durable.link(places.root / "current", "releases/f")
    durable.link(places.root / "last-good", "releases/e")
    for good in ("a", "b", "e"):
        lock.audit(str(places.audit), {"event": "commit", "release": good})
    assert pruning.prune(places, 2) == ("d", "c")
    assert names(places) == ["a", "b", "e", "f"], "a and b were good, c and d never were"
    assert pruning.prune(places, 2) == ()


def test_prune_finishes_what_was_cut_off_and_removes_only_releases(places: Places) -> None:
    stage(places, "a")
    durable.link(places.root / "current", "releases/a")
    for name in (".removing-x", ".staging-y", "by-hand"):
        (places.releases / name).mkdir()
    pruning.prune(places, 0)
    assert names(places) == [".staging-y", "a", "by-hand"]


@pytest.mark.processes
def test_prune_never_takes_what_a_process_of_ours_works_in(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    stage(places, "a", "b")
    monkeypatch.setattr(units, "_UNIT", re.compile(""))  # any process counts as one of ours
    with subprocess.Popen(("sleep", "60"), cwd=places.releases / "a") as process:
        try:
            assert pruning.prune(places, 0) == ("b",)
        finally:
            process.kill()
    assert pruning.prune(places, 0) == ("a",)


def test_other_credentials_for_the_current_release_wait(places: Places) -> None:
    stage(places, "a")
    release = places.releases / "a"
    assert credentials.put(places, "a", {"key": "first"})
    durable.link(places.root / "current", "releases/a")
    assert not credentials.put(places, "a", {"key": "first"})
    assert credentials.put(places, "a", {"key": "second", "more": "x"})
    assert (release / "credentials/key").read_text() == "first"
    assert credentials.take(release, wanted=True)
    assert sorted(path.read_text() for path in (release / "credentials").iterdir()) == ["second", "x"]
    assert (release / "credentials/key").stat().st_mode & 0o777 == 0o400
    assert not credentials.take(release, wanted=True)


def test_credentials_that_wait_for_nothing_are_dropped(places: Places) -> None:
    stage(places, "a")
    credentials.put(places, "a", {"key": "first"})
    durable.link(places.root / "current", "releases/a")
    credentials.put(places, "a", {"key": "second"})
    assert credentials.put(places, "a", {"key": "first"})
    assert not credentials.waiting(places.releases / "a").exists()
    credentials.put(places, "a", {"key": "third"})
    assert credentials.take(places.releases / "a", wanted=False)
    assert (places.releases / "a/credentials/key").read_text() == "first"


def test_what_is_not_current_is_not_committed(places: Places) -> None:
    stage(places, "a", "b")
    durable.link(places.root / "current", "releases/a")
    with pytest.raises(HostError, match="current release is a, not b"):
        committing.commit(places, "b", 30000, 3, {})
    assert places.linked("last-good") is None


def test_the_fence_lets_only_the_holder_through(places: Places) -> None:
    with held(places, "somebody", 0):
        with pytest.raises(HostError, match=r'locked: root@.* runs "somebody"'), fenced(places, None, "another"):
            pass
        with pytest.raises(HostError, match="lost"), fenced(places, "an old token", "another"):
            pass
    with fenced(places, None, "another"):
        pass


def test_a_directory_in_a_links_place_is_put_aside_and_no_link_is_left(places: Places) -> None:
    (places.root / "current").mkdir()
    (places.root / "current" / "kept").touch()
    (places.root / ".current.4711").symlink_to("releases/old")
    assert durable.link(places.root / "current", "releases/a")
    assert places.linked("current") == "a"
    assert (places.root / ".replaced-current-1" / "kept").exists()
    assert not list(places.root.glob(".current.*"))


def test_a_full_disk_is_said_with_its_place_and_a_fix(places: Places) -> None:
    text = told(OSError(errno.ENOSPC, "No space left on device"), places)
    assert str(places.state) in text
    assert "Fix:" in text
