"""Real journal files, written by systemd-journal-remote where this machine has it, and read by journalctl."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ddtree_ops.adapters.local import LocalShell
from ddtree_ops.ports import Stream
from ddtree_ops.triage.entry import JournalEntry
from tests.triage.written_forms import as_export

#: Debian's package systemd-journal-remote; no program of PATH.
WRITER = os.environ.get("JOURNAL_REMOTE") or shutil.which("systemd-journal-remote", path="/lib/systemd:/usr/lib/systemd")


class FilesShell(LocalShell):
    """This machine, with the journal files of a folder for its journal."""

    def __init__(self, folder: Path) -> None:
        super().__init__("ct200")
        self._folder = folder

    @contextmanager
    def stream(self, argv: tuple[str, ...]) -> Iterator[Stream]:
        files = (f"--file={self._folder}/*.journal",) if argv[0] == "journalctl" else ()
        with super().stream((argv[0], *files, *argv[1:])) as stream:
            yield stream


def writer(path: Path) -> subprocess.Popen[bytes]:
    """A process that appends to a journal file what it reads in export format."""
    assert WRITER is not None
    return subprocess.Popen((WRITER, "-o", str(path), "-"), stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)


def write(path: Path, entries: Iterable[JournalEntry]) -> None:
    """One journal file. Its entries get cursors of their own."""
    process = writer(path)
    assert process.stdin is not None
    process.stdin.writelines(map(as_export, entries))
    process.stdin.close()
    assert process.wait() == 0
