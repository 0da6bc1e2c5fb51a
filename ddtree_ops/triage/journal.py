"""Reading a unit's journal: the commands, each beside the parser of what comes back.

`-o export` with selected fields is used everywhere: it is binary-safe and several times faster than `-o json`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.triage.entry import OUTPUT_FIELDS
from ddtree_ops.triage.forms.export_stream import read_export

__all__ = ["follow", "last_cursor", "matches", "parse_cursor", "read", "read_export"]

_JOURNALCTL = ("journalctl", "--quiet", "--no-pager", "--output=export")
_KERNEL = ("+", "_TRANSPORT=kernel", "_TRANSPORT=audit")  # SELinux and AppArmor speak through audit
_FIELDS = f"--output-fields={','.join(OUTPUT_FIELDS)}"


def follow(unit: str, after_cursor: str | None, *, kernel: bool = False) -> tuple[str, ...]:
    """Command that gives the unit's entries after a cursor and then new ones as they come; read by `read_export`.

    Without a cursor it starts at the unit's first entry. `--no-tail`, because `--follow` alone shows only the last ten
    entries, and `-n0` loses the first lines of a fresh unit. `kernel`: as in `read`.
    """
    start = (f"--after-cursor={after_cursor}",) if after_cursor else ()
    of_unit = (*matches(unit), *_KERNEL) if kernel else (f"--unit={unit}",)
    return (*_JOURNALCTL, _FIELDS, *of_unit, *start, "--follow", "--no-tail")


def read(
    unit: str,
    *,
    invocation: str | None = None,
    since: str | None = None,
    after_cursor: str | None = None,
    kernel: bool = False,
) -> tuple[str, ...]:
    """Command that gives what the journal holds of a unit, oldest first; read by `read_export`.

    `invocation` (systemd's 128-bit id) chooses one run of the unit, with what the manager said about it; `since` is any
    time that journalctl takes (`-1h`, `@1795977363`, `2026-11-29 18:36:00`); `after_cursor` what came after an entry;
    `kernel` adds the kernel's lines (GPU errors, the OOM killer, denials): all that there are, so give one of the other two too.
    """
    options = {"--since": since, "--after-cursor": after_cursor}
    start = tuple(f"{name}={value}" for name, value in options.items() if value)
    if invocation is None and not kernel:
        return (*_JOURNALCTL, _FIELDS, *start, f"--unit={unit}")
    return (*_JOURNALCTL, _FIELDS, *start, *matches(unit, invocation), *(_KERNEL if kernel else ()))


def matches(unit: str, invocation: str | None = None) -> tuple[str, ...]:
    """Which entries are a unit's: its own, and those of the manager (process 1) about it.

    As arguments of journalctl: fields in a row must all be so, `+` is an "or". `--unit` stands for these and a few more
    (src/shared/logs-show.c, systemd 252), but can't be joined with others.
    """
    own: tuple[str, ...] = (f"_SYSTEMD_UNIT={unit}",)
    manager: tuple[str, ...] = ("_PID=1", f"UNIT={unit}")
    if invocation is not None:
        own, manager = (*own, f"_SYSTEMD_INVOCATION_ID={invocation}"), (*manager, f"INVOCATION_ID={invocation}")
    return (*own, "+", *manager)


def last_cursor() -> tuple[str, ...]:
    """Command that gives the journal's newest entry, whatever unit wrote it; read by `parse_cursor`."""
    return (*_JOURNALCTL, "--output-fields=_BOOT_ID", "--lines=1")


def parse_cursor(output: bytes | Iterable[bytes]) -> str:
    """The cursor that `last_cursor()` printed: where a following reader starts, so that no line is lost.

    Raises HostCommandFailed if the journal is empty or can't be read by this user.
    """
    chunks = (output,) if isinstance(output, bytes) else output
    for entry in read_export(chunks):
        if entry.cursor:
            return entry.cursor
    raise HostCommandFailed("the host's journal shows no entry", hint="the login needs to be root or in group systemd-journal")
