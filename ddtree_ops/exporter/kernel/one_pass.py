"""One pass over the kernel's log: read on from where the last pass was, count, write it down."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ddtree_ops.exporter import state_file
from ddtree_ops.exporter.gpus.indexes import indexes
from ddtree_ops.exporter.journal.source import read_on
from ddtree_ops.exporter.journal.state import Place
from ddtree_ops.exporter.kernel.lines import WORDS, read_xid
from ddtree_ops.exporter.kernel.state import KernelState, from_data
from ddtree_ops.ports import Command, Shell
from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.triage.forms.sieve import Spelling

_FIELDS = "MESSAGE,_TRANSPORT"
_READ = ("journalctl", "--quiet", "--no-pager", "--output=export", f"--output-fields={_FIELDS}", "_TRANSPORT=kernel")
_BOOT = Command(("cat", "/proc/sys/kernel/random/boot_id"), ok=frozenset(range(256)))


class _Sieve:
    """Lets pass what holds one of our words, the first record and the last one (forms/sieve.py)."""

    attentive = False

    def begin(self, spelling: Spelling) -> None:
        """Only messages are looked at."""

    def find(self, data: bytes, start: int) -> int:
        found = WORDS.search(data, start)
        return found.start() if found else -1

    def context(self, left_out: int) -> int:  # noqa: ARG002
        return 0

    def counted(self, number: int, data: bytes, start: int, end: int) -> int:  # noqa: ARG002
        return number

    def last(self, data: bytes) -> int:
        return len(data) - 1


def run(shell: Shell, directory: Path) -> KernelState:
    """Read on, and write the state. Raises OSError, Unreachable, HostCommandFailed; nothing is written then."""
    path = directory / state_file.KERNEL
    state = state_file.load(path, from_data, lambda lost: KernelState(silent_us=int((lost or 0) * 1e6)))
    _learn(shell, state)
    for entry in _entries(shell, state.after):
        if (entry.realtime_us or 0) > state.silent_us:
            _take(shell, state, entry)
        if entry.cursor:
            state.after = Place(entry.cursor, entry.realtime_us or 0, inclusive=False)
    state_file.write(path, state.to_data())
    return state


def _entries(shell: Shell, after: Place | None) -> Iterator[JournalEntry]:
    for item in read_on(shell, _READ, after, _Sieve):
        if isinstance(item, JournalEntry):
            yield item


def _take(shell: Shell, state: KernelState, entry: JournalEntry) -> None:
    words = entry.message
    xid = read_xid(words)
    if xid is not None:
        if xid.pci not in state.gpus and not xid.number.startswith("S"):
            state.gpus.update(indexes(shell))
            state.gpus.setdefault(xid.pci, -1)  # asked once; the address is told
        index = state.gpus.get(xid.pci, -1)
        state.xid(str(index) if index >= 0 else xid.pci, xid.number, entry.realtime_us or 0)
    victim = state.victims.take(words)
    if victim is not None:
        state.killed[victim] += 1


def _learn(shell: Shell, state: KernelState) -> None:
    """Once a boot, while all GPUs are well: a lost one isn't listed any more when its Xid comes."""
    boot = shell.run(_BOOT).stdout.strip()[:64]
    if boot and boot != state.gpus_boot:
        found = indexes(shell)
        state.gpus_boot, state.gpus = boot, found or state.gpus
