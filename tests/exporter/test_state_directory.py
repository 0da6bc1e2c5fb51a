"""The directory of --state: who has it, and what is refused; its files: one way to read them all."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ddtree_ops.errors import UsageError
from ddtree_ops.exporter import state_file
from ddtree_ops.exporter.collectors.boots import BootsCollector
from ddtree_ops.exporter.collectors.deploys import NAME, DeploysCollector
from ddtree_ops.exporter.journal import one_pass
from ddtree_ops.exporter.kernel import one_pass as kernel_pass
from ddtree_ops.exporter.state_directory import claimed
from tests.exporter.journal_story import UNIT, StoryShell
from tests.exporter.shells import HostFolder


def test_a_directory_is_one_exporters(tmp_path: Path) -> None:
    with claimed(tmp_path / "new"):
        with pytest.raises(UsageError, match=f"in use by process {os.getpid()}"), claimed(tmp_path / "new"):
            pass
        with claimed(tmp_path / "other"):
            pass
    with claimed(tmp_path / "new"):  # whoever had it has ended
        pass


def test_a_full_disk_is_no_reason_not_to_serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(number: int) -> None:
        def raises(*_: object, **__: object) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr("ddtree_ops.exporter.state_directory.tempfile.TemporaryFile", raises)

    refused(errno.ENOSPC)
    with claimed(tmp_path):
        pass
    assert "isn't kept over a restart until there is room" in capsys.readouterr().err
    for number in (errno.EACCES, errno.EROFS):
        refused(number)
        with pytest.raises(UsageError, match=os.strerror(number)), claimed(tmp_path):
            pass


@pytest.mark.processes
@pytest.mark.parametrize("text", ['{"format": 99}', "{", "[]", '{"format": 1}'], ids=["newer", "torn", "a list", "empty"])
@pytest.mark.parametrize("which", ["boots.json", NAME, "journal-30000.json", state_file.KERNEL])
def test_a_file_that_can_not_be_used_is_set_aside_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], which: str, text: str
) -> None:
    host, shell, state = HostFolder(tmp_path / "host"), StoryShell([]), tmp_path / "state"
    state.mkdir()
    (state / which).write_text(text)
    readers: dict[str, Callable[[], object]] = {
        "boots.json": lambda: BootsCollector(host.target(), state).read(),
        NAME: lambda: DeploysCollector(host.target(), state).read(),
        "journal-30000.json": lambda: one_pass.Pass(shell, UNIT, state, sleep=shell.sleep).run(),
        state_file.KERNEL: lambda: kernel_pass.run(shell, state),
    }
    host.audit({"event": "deploy", "outcome": "deployed"})
    readers[which]()
    assert (state / f"{which}.aside").read_text() == text
    assert f"{which} can't be used, and is {which}.aside now" in capsys.readouterr().err
    assert json.loads((state / which).read_text())["format"] == 1
