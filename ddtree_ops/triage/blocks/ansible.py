"""Recognises failed tasks in Ansible's output; what isn't Ansible's is looked at as OpenSSH's.

ansible-core 2.19 and later print one failure twice: `[ERROR]: Task failed: ...` with its origin, then the result. Both
are one block. A failure that the play ignores or rescues is none: `...ignoring` follows, or the recap counts no failure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from ddtree_ops.triage.block import Block, Evidence, Origin, ParsedException
from ddtree_ops.triage.blocks.ansible_result import event_lines, result_lines
from ddtree_ops.triage.blocks.ssh import Ssh
from ddtree_ops.triage.blocks.tracebacks import Tracebacks
from ddtree_ops.triage.lines import Line, Prefix, evidence, read_prefix

_LOG_PREFIX = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} p=\d{1,10} u=\S{1,64} n=\S{1,64}(?: [A-Z]{3,10})?\| ")
_RESULT = re.compile(
    r"(?:fatal|failed): \[(?P<host>[^\]\n]{1,300})\](?:: (?:UNREACHABLE|FAILED)!)?(?: \(item=.{0,2000}?\))? => (?P<rest>.*)"
    r"|(?P<named>[\w.:-]{1,253}) \| (?:UNREACHABLE|FAILED)!? (?:=> |\| rc=-?\d{1,5} >>)(?P<adhoc>.*)",
    re.DOTALL,
)
_ERROR = re.compile(r"\[ERROR\]: |ERROR! ")
_RECAP = re.compile(
    r"(?P<host>[\w.:-]{1,253}) {1,80}: ok=\d{1,6} .{0,80}?unreachable=(?P<unreachable>\d{1,6}) .{0,80}?failed=(?P<failed>\d{1,6})"
)
_HEADS = ("TASK [", "PLAY [", "PLAY RECAP", "RUNNING HANDLER [", "NO MORE HOSTS LEFT", "changed: [", "ok: [", "skipping: [")
_STARTS = ("fatal: [", "failed: [", "[ERROR]: ", "ERROR! ", "{")
_EVENTS = ("runner_on_failed", "runner_on_unreachable", "runner_item_on_failed")
_OPEN_LIMIT = 500
_ERROR_LIMIT = 40
_LINE_LENGTH = 2000
_RESULT_LENGTH = 256 * 1024
_PENDING_LIMIT = 200
_TELLING = ("msg: ", "reason: ", "stderr: ", "module_stderr: ", "module_stdout: ", "exception: ")
_SAYS_NOTHING = ("msg: non-zero return code", "msg: MODULE FAILURE", "msg: One or more items failed", "msg: All items completed")
_TOLD_LIMIT = 6
_SHORT, _SAID_LENGTH = 300, 500


class Ansible:
    """Feed it every line (recogniser.py)."""

    literals: ClassVar[tuple[str, ...]] = (
        "fatal: [",
        "failed: [",
        "UNREACHABLE! =",
        "FAILED! =",
        "[ERROR]: ",
        "ERROR! ",
        "...ignoring",
        " unreachable=",
        *_EVENTS,
        *Ssh.literals,
    )

    def __init__(self) -> None:
        self._ssh = Ssh()
        self._error: list[str] = []
        self._error_line: Line | None = None
        self._result: tuple[str, Line, list[str]] | None = None  # host, its line, what follows `=>`
        self._pending: list[tuple[str, Block]] = []

    @property
    def busy(self) -> bool:
        """Whether the lines of an error or a result come."""
        return bool(self._error) or self._result is not None or self._ssh.busy

    def feed(self, line: Line, prefix: Prefix) -> Sequence[Block]:
        """Take one line (`prefix`: what `read_prefix` made of it)."""
        text = line.text
        if text[:2] == "20":
            found = _LOG_PREFIX.match(text)
            text = text[found.end() :] if found else text
        if self._result is not None and self._goes_on(text):
            return ()
        if not (self._error or self._pending or text.startswith(_STARTS) or "! =" in text[:300]):
            return self._ssh.feed(line, prefix)
        return () if prefix.dated or line.progress else self._read(text, line, prefix)

    def settle(self) -> Sequence[Block]:
        """Give out what is complete."""
        return self.flush()

    def flush(self) -> Sequence[Block]:
        """Give out everything, at the end of the log."""
        self._close_result()
        if self._error and self._error_line:
            self._add("", self._error_line, (), self._error)
            self._error = []
        pending, self._pending = self._pending, []
        return [*(block for _, block in pending), *self._ssh.flush()]

    def _read(self, text: str, line: Line, prefix: Prefix) -> Sequence[Block]:
        found = _RESULT.match(text)
        if found:
            host, rest = found["host"] or found["named"], found["rest"] if found["host"] else found["adhoc"]
            self._result = (host.partition(" -> ")[0], line, [rest[:_RESULT_LENGTH]])
            if _complete(rest):
                self._close_result()
        elif text.startswith("{") and any(event in text[:4000] for event in _EVENTS):
            event = event_lines(text)
            if event:
                self._add(event[0], line, event[1], [])
        elif _ERROR.match(text):
            self._error, self._error_line = [text[:_LINE_LENGTH]], line
        elif text.startswith("...ignoring"):
            del self._pending[-1:]
        elif self._error and not text.startswith(_HEADS):
            self._error = [*self._error, text[:_LINE_LENGTH]][:_ERROR_LIMIT]
        else:
            self._error = []
            return self._after(text, line, prefix)
        return self._overflow()

    def _after(self, text: str, line: Line, prefix: Prefix) -> Sequence[Block]:
        recap = _RECAP.match(text)
        if recap is None:
            return () if text.startswith(_HEADS) else self._ssh.feed(line, prefix)
        of_host = [item for item in self._pending if item[0] == recap["host"]]
        self._pending = [item for item in self._pending if item[0] != recap["host"]]
        return [block for _, block in of_host] if int(recap["failed"]) + int(recap["unreachable"]) else ()

    def _goes_on(self, text: str) -> bool:
        """Whether the line belongs to a result over several lines: those are indented, or close it."""
        assert self._result is not None  # noqa: S101 - the caller looked
        _, _, parts = self._result
        if (text[:1] in (" ", "") or text in ("}", "]")) and len(parts) < _OPEN_LIMIT:
            parts.append(text[:_LINE_LENGTH])
            if text == "}":
                self._close_result()
            return True
        self._close_result()
        return False

    def _close_result(self) -> None:
        if self._result is not None:
            host, line, parts = self._result
            self._result = None
            error, self._error = self._error, []
            self._add(host, line, result_lines("\n".join(parts)), error)

    def _add(self, host: str, line: Line, lines: tuple[str, ...], error: list[str]) -> None:
        told = _told(host, lines, line)
        said = [*lines, *(f"error: {text.strip()}" for text in error if text.strip())]
        block = Block(
            pid=line.entry.pid,
            rank=None,
            comm="ansible",
            header=host,
            record=False,
            exceptions=_exceptions(lines, line),
            evidence=told,
            first_us=told[0].time_us,
            last_us=told[0].time_us,
            origin=Origin.ANSIBLE,
            lines=tuple(said),
        )
        self._pending.append((host, block))

    def _overflow(self) -> Sequence[Block]:
        over = self._pending[:-_PENDING_LIMIT]
        del self._pending[:-_PENDING_LIMIT]
        return [block for _, block in over]


def _told(host: str, lines: tuple[str, ...], line: Line) -> tuple[Evidence, ...]:
    """The line's beginning and what the result says, which stands far behind it or on lines below; telling words last."""
    whole = evidence(line)
    telling = [text for text in lines if text.startswith(_TELLING)]
    if not telling:
        return (whole,)
    head, arrow, _ = whole.text.partition(" => ")
    head = head if arrow and len(head) <= _SHORT else whole.text[:_SHORT]
    said = [text for text in telling if text.startswith("msg: ")][:1]
    said = [*(text for text in telling if not text.startswith("msg: "))][-_TOLD_LIMIT:] + said
    if telling[0].startswith(_SAYS_NOTHING):
        said = [*said[-1:], *said[:-1]]
    of_host = f"[{host}] " if host and host not in head else ""
    return (replace(whole, text=head), *(replace(whole, text=f"{of_host}{text}"[:_SAID_LENGTH]) for text in said))


def _complete(rest: str) -> bool:
    """Whether a result stands on its one line."""
    return rest.startswith("{") and rest.rstrip().endswith("}") and len(rest) > len("{}")


def _exceptions(lines: tuple[str, ...], line: Line) -> tuple[ParsedException, ...]:
    """Of a program that ended with a traceback on the host, whichever stream it stands in."""
    reader = Tracebacks()
    for key in ("module_stderr: ", "module_stdout: ", "stderr: "):
        blocks: list[Block] = []
        for text in (text.removeprefix(key) for text in lines if text.startswith(key)):
            blocks += reader.feed(Line(text, line.entry, line.number), read_prefix(text))
        blocks += reader.flush()
        if blocks:
            return blocks[-1].exceptions
    return ()
