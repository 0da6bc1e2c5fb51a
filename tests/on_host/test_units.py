"""Units and their processes: this very process takes the place of a server's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ddtree_ops.on_host import units

pytestmark = pytest.mark.processes

BLOCK = "Id=ddtree-server@30000.service\nMainPID={pid}\nFragmentPath={path}"


def shown(text: str) -> subprocess.Popen[bytes] | str:
    """A `systemctl show` that prints this."""
    return units.ask([sys.executable, "-c", f"print({text!r})"])


def test_a_unit_with_its_file_and_its_process(tmp_path: Path) -> None:
    release = tmp_path / "releases" / "lab-a"
    release.mkdir(parents=True)
    unit = tmp_path / "unit"
    unit.write_text("[Service]\n# ExecStart=/no\nExecStart=/opt/python -m launcher --release x\n")
    command = (sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()", "--an argument", "")
    with subprocess.Popen(command, cwd=release, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()  # until then it may still be the copy of this process
        answer = units.answers(shown(BLOCK.format(pid=process.pid, path=unit)))
        process.communicate()
    (found,) = answer["units"]
    assert (found["release"], found["argv"]) == ("lab-a", list(command))
    assert found["command"] == ["/opt/python", "-m", "launcher", "--release", "x"]
    assert found["digest"] is not None
    assert answer["units_problem"] is None


def test_a_unit_without_file_or_process() -> None:
    text = "Id=ddtree-server@30000.service\nMainPID=0\nFragmentPath=\n\nId=ddtree-deadman.timer\nLoadState=not-found"
    found = units.answers(shown(text))["units"]
    assert [(one["release"], one["argv"], one["digest"], one["command"]) for one in found] == [(None, None, None, None)] * 2


def test_a_unit_that_a_name_and_a_pattern_show_counts_once() -> None:
    block = BLOCK.format(pid=0, path="")
    assert len(units.answers(shown(f"{block}\n\n{block}"))["units"]) == 1


def test_a_process_that_works_elsewhere_is_no_releases() -> None:
    (found,) = units.answers(shown(BLOCK.format(pid=os.getpid(), path="/none")))["units"]
    assert (found["release"], found["digest"]) == (None, None)


def test_drop_ins_that_systemd_has_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "ddtree-server@30000.service.d"
    own.mkdir()
    for name in ("b.conf", "a.conf", "not-one"):
        (own / name).touch()
    monkeypatch.setattr(units, "DIRECTORIES", (str(tmp_path), "/none"))
    (found,) = units.answers(shown(BLOCK.format(pid=0, path="")))["units"]
    assert found["drop_ins"] == [f"{own}/a.conf", f"{own}/b.conf"]


def test_a_systemd_that_gives_no_answer() -> None:
    failed = units.answers(units.ask([sys.executable, "-c", "import sys; sys.exit('Host is down')"]))
    assert failed == {"units": [], "units_problem": "systemctl show: Host is down"}
    assert "No such file" in units.answers(units.ask(["/no/systemctl"]))["units_problem"]
