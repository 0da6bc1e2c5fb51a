"""A pass is a process of its own, with a working directory of its own."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from ddtree_ops.exporter import passes
from ddtree_ops.ports import Command, Completed, Stream


class Host:
    """Keeps what was run."""

    host = "h"
    ran: tuple[str, ...] = ()

    def run(self, command: Command) -> Completed:
        self.ran = command.argv
        return Completed(command, 0, "", "", 0.0)

    def stream(self, argv: tuple[str, ...]) -> AbstractContextManager[Stream]:
        raise AssertionError(argv)


@pytest.mark.processes
def test_a_relative_state_is_ours_and_not_the_childs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    host = Host()
    passes.children(host, Path("state"))("ddtree-server@30000.service")
    assert host.ran[host.ran.index("--state") + 1] == str(tmp_path / "state")
