"""systemd ended a start for what happened beside the unit's program: a command before it, a mount, another unit.

Nothing that has a kind of its own; what systemd says is still clear.
"""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Origin
from ddtree_ops.triage.blocks import systemd_words as words
from ddtree_ops.triage.blocks.systemd_unit import SAID
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# systemd.service(5), $SERVICE_RESULT
_RESULTS = {
    "core-dump": "a process of it crashed and left a core dump",
    "signal": "a process of it was ended by a signal",
    "exit-code": "a process of it ended with an error status",
    "timeout": "it didn't start or stop in time",
}


def match(context: Context) -> Finding | None:
    """By the failed dependency, the command that ended, or the result alone."""
    if context.block.origin is not Origin.SYSTEMD:
        return None
    for pattern, finding in ((words.DEPENDENCY, _dependency), (words.EXITED, _command), (words.RESULT, _result)):
        found = next((match for line in context.block.lines if (match := pattern.match(line))), None)
        if found:
            return finding(found, context)
    return None


def _dependency(found: re.Match[str], _: Context) -> Finding:
    unit = found["unit"]
    return _finding(
        f"{unit} wasn't started: a unit that it needs failed",
        f"{unit} requires another unit (Requires=, BindsTo=, a mount of a path that it names), and that one didn't start.",
        f"systemctl list-dependencies {unit} shows which one; read that one's log, and start it first.",
    )


def _command(found: re.Match[str], context: Context) -> Finding | None:
    unit, status = (
        found["unit"],
        f"code={found['code']}, status={found['status']}" + (f"/{found['name']}" if found["name"] else ""),
    )
    if found["who"].lower() == "mount":
        return _finding(
            f"{unit} could not be mounted",
            f"mount failed ({status}), so the path isn't there, and what needs it doesn't start.",
            f"systemctl status {unit}; try it by hand: mount says why.",
        )
    if found["who"].lower() != "control":
        return None
    said = next((line.removeprefix(SAID) for line in context.block.lines if line.startswith(SAID)), None)
    words_of_it = f"; it said: {said}" if said else ""
    return _finding(
        f"A command of {unit} beside its main process failed",
        f"A command that systemd runs around the program of {unit} (ExecStartPre= most often; ExecStart= itself where the unit"
        f" forks) ended with an error ({status}){words_of_it}.",
        f"systemctl status {unit} names the command; run it by hand as the unit's user.",
    )


def _result(found: re.Match[str], _: Context) -> Finding | None:
    why = _RESULTS.get(found["result"])
    if why is None:
        return None
    return _finding(
        f"{found['unit']} failed with result '{found['result']}': {why}",
        None,
        f"journalctl -u {found['unit']} of that time tells what it wrote; coredumpctl list shows crashes.",
    )


def _finding(title: str, cause: str | None, fix: str) -> Finding:
    return Finding(Kind.UNKNOWN, title, cause, (fix,), Confidence.LIKELY if cause else Confidence.UNKNOWN)


SIGNATURE = Signature(match)
