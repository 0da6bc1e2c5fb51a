"""Keeping a failed run's journal: with a journalctl of our own on the PATH (hosts have the real one: tests/hosts)."""

from __future__ import annotations

import grp
import gzip
import os
import subprocess
from pathlib import Path

import pytest

from ddtree_ops.flows import crashes
from sglang_ddtree import keep_crash

pytestmark = pytest.mark.processes

ID = "0123456789abcdef" * 2


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """journalctl writes its arguments; systemctl a time."""
    folder = tmp_path / "bin"
    folder.mkdir()
    write(folder / "journalctl", 'printf "%s\\n" "$@"')
    write(folder / "systemctl", "echo Sun 2026-11-29 18:00:00 UTC")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def write(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def environment(result: str = "exit-code", invocation: str = ID) -> dict[str, str]:
    return {"SERVICE_RESULT": result, "INVOCATION_ID": invocation}


def test_the_run_and_what_the_kernel_said_meanwhile(programs: Path, tmp_path: Path) -> None:
    kept = keep_crash.keep("a@1.service", tmp_path / "crashes", environment())
    assert kept is not None
    asked = gzip.decompress(kept.read_bytes()).decode().splitlines()
    assert "--since=Sun 2026-11-29 18:00:00 UTC" in asked
    groups = " ".join(asked[asked.index("--since=Sun 2026-11-29 18:00:00 UTC") + 1 :]).split(" + ")
    assert groups[0] == f"_SYSTEMD_UNIT=a@1.service _SYSTEMD_INVOCATION_ID={ID}"
    assert groups[2].startswith("_TRANSPORT=kernel PRIORITY=0 ")
    assert groups[3] == "_TRANSPORT=audit"  # it has no priority: asked for one, it would never come


def test_those_who_may_read_the_journal_may_read_what_is_kept_of_it(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "crashes"
    folder.mkdir(mode=0o700)  # an older version's
    monkeypatch.setattr(keep_crash, "READERS", grp.getgrgid(os.getgid()).gr_name)
    kept = keep_crash.keep("a@1.service", folder, environment())
    assert kept is not None
    assert (folder.stat().st_mode & 0o777, kept.stat().st_mode & 0o777) == (0o750, 0o640)


def test_where_there_is_no_such_group_it_is_roots_alone(programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keep_crash, "READERS", "no-such-group")
    kept = keep_crash.keep("a@1.service", tmp_path / "crashes", environment())
    assert kept is not None
    assert (kept.parent.stat().st_mode & 0o777, kept.stat().st_mode & 0o777) == (0o700, 0o600)


@pytest.mark.parametrize("given", [environment("success"), environment(invocation="../../etc"), {}])
def test_nothing_is_kept_of_a_clean_end_or_of_no_run(programs: Path, tmp_path: Path, given: dict[str, str]) -> None:
    assert keep_crash.keep("a@1.service", tmp_path / "crashes", given) is None


def test_the_newest_stay_and_a_torn_file_goes(programs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "crashes"
    folder.mkdir()
    for day in range(1, 26):
        (folder / f"202601{day:02}T000000Z-{ID}.export.gz").touch()
    torn = folder / f".20260101T000000Z-{ID}.export.gz"
    torn.touch()
    keep_crash.keep("a@1.service", folder, environment())
    names = sorted(path.name for path in folder.iterdir())
    assert len(names) == keep_crash.KEPT
    assert names[0].startswith("20260107")
    assert not torn.exists()


def test_a_journalctl_that_fails_leaves_nothing_that_looks_kept(programs: Path, tmp_path: Path) -> None:
    write(programs / "journalctl", 'case "$*" in *--sync*) exit 0;; esac; exit 1')
    with pytest.raises(subprocess.CalledProcessError):
        keep_crash.keep("a@1.service", tmp_path / "crashes", environment())
    assert not list((tmp_path / "crashes").iterdir())


def test_a_journalctl_that_hangs_is_ended_and_what_it_gave_is_kept(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keep_crash, "READ_SECONDS", 0.2)
    write(programs / "journalctl", 'case "$*" in *--sync*) exit 0;; esac; echo some; exec sleep 60')
    kept = keep_crash.keep("a@1.service", tmp_path / "crashes", environment())
    assert kept is not None
    assert gzip.decompress(kept.read_bytes()) == b"some\n"


def test_the_controller_looks_where_the_unit_keeps_them() -> None:
    assert str(keep_crash.DIRECTORY) == crashes.DIRECTORY
