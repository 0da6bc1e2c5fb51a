"""What was read as one piece: a traceback, a crash dump, a kernel's report, a systemd result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Relation(StrEnum):
    """How an exception follows from the one printed before it."""

    CAUSE = "cause"
    CONTEXT = "context"
    GROUP = "group"


class Language(StrEnum):
    """Whose words an exception is in."""

    PYTHON = "python"
    CPP = "c++"
    KERNEL = "kernel"
    SYSTEMD = "systemd"
    ANSIBLE = "ansible"
    SSH = "ssh"


class Origin(StrEnum):
    """What sort of block it is."""

    TRACEBACK = "traceback"  # a Python traceback
    BARE_EXCEPTION = "bare_exception"  # an exception's last line without a traceback above it
    TERMINATE = "terminate"  # C++: "terminate called ...", its message and frames
    COLLECTIVE = "collective"  # NCCL's or Gloo's watchdog, NCCL WARN lines
    THREADS = "threads"  # faulthandler or py-spy
    ELASTIC = "elastic"  # torchelastic's table of failed ranks
    DEVICE_ASSERT = "device_assert"  # assertion lines of a CUDA kernel
    KERNEL = "kernel"  # Xid, NVRM, OOM killer, segfault, file systems
    SYSTEMD = "systemd"  # what the manager says of the unit's end
    ANSIBLE = "ansible"
    SSH = "ssh"
    CONTAINER = "container"  # how docker or Kubernetes says that a container ended
    LINE = "line"  # one line that tells a failure by itself


@dataclass(frozen=True, slots=True)
class Frame:
    """One stack frame. `in_app`: neither Python's nor a general library's code. `repeated`: further times it was left out.

    `source`: the installed lines around it with their numbers, the frame's own marked (`source_windows`), where they were read.
    """

    file: str
    line: int | None
    function: str | None
    code: str | None = None
    in_app: bool = True
    repeated: int = 0
    source: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ParsedException:
    """One exception of a block; frames outermost first, the raising one last. `parent`: index of the group that holds it.

    Words of the kernel, systemd, Ansible and SSH are no exceptions: their blocks have none (the schema's `exceptions` of
    such failures is empty). C++: the frame of the exception's own constructor stands for the place that raised it.
    """

    type: str
    message: str
    relation: Relation | None
    frames: tuple[Frame, ...]
    complete: bool = True
    parent: int | None = None
    language: Language = Language.PYTHON
    notes: tuple[str, ...] = ()


#: The type of an exception whose own line is missing: the log ends above it.
UNNAMED = "unknown"

#: Stands where a block has no exception: no type, no message, no frames.
NO_EXCEPTION = ParsedException("", "", None, ())


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread of a faulthandler or py-spy dump; frames outermost first. `current`: it was running when it happened."""

    id: str | None
    name: str | None
    current: bool
    frames: tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU that the failure names: its index, its PCI address, whether it is the one to look at."""

    gpu: int | None = None
    pci: str | None = None
    suspect: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """One line of the log, cleaned: its cursor, its number among the entries read, its time since the epoch."""

    cursor: str | None
    line: int | None
    time_us: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of a log. `header`: the text before a traceback's header on its line. `lines`: the text itself, bounded.

    `record`: it was logged as one record (dated prefix), not printed by the interpreter. `last_us`: time of its last line.
    `subjects`: the processes it is about, where that isn't the writer (the OOM killer's victim, a watchdog's child).
    `times`: how many events it stands for.
    """

    pid: int | None
    rank: str | None
    comm: str | None
    header: str
    record: bool
    exceptions: tuple[ParsedException, ...]
    evidence: tuple[Evidence, ...]
    first_us: int | None
    last_us: int | None
    origin: Origin = Origin.TRACEBACK
    lines: tuple[str, ...] = ()
    threads: tuple[Thread, ...] = ()
    devices: tuple[Device, ...] = ()
    subjects: tuple[int, ...] = ()
    times: int = 1

    @property
    def ending(self) -> ParsedException:
        """The exception that ended the process: the last one outside groups; `NO_EXCEPTION` if the block has none."""
        return next((item for item in reversed(self.exceptions) if item.parent is None), NO_EXCEPTION)

    @property
    def placed(self) -> tuple[ParsedException, ...]:
        """Its exceptions; a fatal error, which has no frames of its own, with those of the thread that it hit."""
        hit = next((thread for thread in self.threads if thread.current), None)
        if hit is None:
            return self.exceptions
        return tuple(item if item.frames else replace(item, frames=hit.frames) for item in self.exceptions)

    @property
    def text(self) -> str:
        """Its lines as one text."""
        return "\n".join(self.lines)
