"""systemd lost patience, or was told to: a start or a stop that took too long, a watchdog, too many starts, a kill."""

from __future__ import annotations

import re
from collections.abc import Callable

from ddtree_ops.triage.block import Evidence, Origin
from ddtree_ops.triage.blocks import systemd_words as words
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature


def match(context: Context) -> Finding | None:
    """By what systemd says before the unit's result, or by systemctl's words in an Ansible result."""
    if context.block.origin is Origin.ANSIBLE:
        job = context.search(words.JOB)
        return _job(job) if job else None
    if context.block.origin is not Origin.SYSTEMD:
        return None
    for line in context.block.lines:
        for pattern, finding in _SAID:
            found = pattern.match(line)
            if found:
                return finding(found, context)
    return None


def match_line(text: str) -> Finding | None:
    """systemctl's word about a job that it waited for."""
    found = words.JOB.match(text)
    return _job(found) if found else None


def _job(found: re.Match[str]) -> Finding:
    return _start_timeout(found["unit"], None) if "timeout" in found["why"] else _start_limit(found["unit"], None)


def _start_timeout(unit: str, seconds: int | None) -> Finding:
    within = f" within {seconds} s" if seconds is not None else " within TimeoutStartSec="
    return Finding(
        Kind.SYSTEMD_START_TIMEOUT,
        "systemd gave up waiting for the start",
        f"{unit} didn't become ready{within}, and systemd ended it.",
        (
            "Raise TimeoutStartSec= above weights, graph capture and warm-up together, or let the server send"
            " EXTEND_TIMEOUT_USEC=.",
            "If it used to be quicker: find the phase that took longer (ddtree-ops logs); a cold page cache alone doubles"
            " a load.",
        ),
        Confidence.CERTAIN,
    )


def _waited(told: tuple[Evidence, ...]) -> int | None:
    """From "Starting" to the time-out, in seconds."""
    begin = next((item.time_us for item in told if item.text.partition("Starting ")[1]), None)
    end = next((item.time_us for item in told if " timed out." in item.text), None)
    return round((end - begin) / 1e6) if begin is not None and end is not None and end >= begin else None


def _stop_timeout(found: re.Match[str], _: Context) -> Finding:
    return Finding(
        Kind.UNKNOWN,
        "systemd killed the unit because it didn't stop in time",
        f"{found['unit']} was told to stop and didn't end within TimeoutStopSec=, so systemd killed it; it had not failed"
        f" before.",
        ("Raise TimeoutStopSec= above the time that running requests may take, or see what keeps the server (py-spy dump).",),
        Confidence.LIKELY,
    )


def _asked(found: re.Match[str], _: Context) -> Finding:
    killed = found["signal"] == "KILL"
    return Finding(
        Kind.SIGKILL_UNKNOWN if killed else Kind.UNKNOWN,
        f"Somebody asked systemd to send SIG{found['signal']}",
        f"systemd sent SIG{found['signal']} to process {found['pid']} of {found['unit']} because a client asked for it"
        " (systemctl kill): it did not fail by itself.",
        ("Find who did: last, the log of sudo, and what else manages units on this host.",),
        Confidence.CERTAIN if killed else Confidence.LIKELY,
    )


def _watchdog(found: re.Match[str], _: Context) -> Finding:
    within = f" for {found['limit']}" if found["limit"] else ""
    return Finding(
        Kind.UNKNOWN,
        "systemd's watchdog ended the unit",
        f"The main process of {found['unit']} didn't say that it lives{within} (WatchdogSec=), so systemd ended it: it hung, or"
        " doesn't send WATCHDOG=1 at all.",
        ("Where it hung shows the core dump (coredumpctl info), or py-spy dump at the next time.",),
        Confidence.LIKELY,
    )


def _start_limit(unit: str, count: str | None) -> Finding:
    times = f" {count} times" if count else " too often"
    return Finding(
        Kind.SYSTEMD_START_LIMIT,
        f"systemd doesn't start {unit} again",
        f"{unit} ended and was started again{times} in a short time, so systemd gave up. The limit is not the cause: why it ended"
        " stands before its first restart.",
        (
            f"Read the first start: journalctl -u {unit}, and look above the first 'Scheduled restart job'.",
            f"When that is mended: systemctl reset-failed {unit}; a longer RestartSec= keeps the log readable.",
        ),
        Confidence.CERTAIN,
    )


def _counted(context: Context) -> str | None:
    counter = next((found for line in context.block.lines if (found := words.COUNTER.match(line))), None)
    return counter["count"] if counter else None


def _result(found: re.Match[str], context: Context) -> Finding | None:
    return _start_limit(found["unit"], _counted(context)) if found["result"] == "start-limit-hit" else None


_SAID: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Context], Finding | None]], ...] = (
    (words.START_TIMEOUT, lambda found, context: _start_timeout(found["unit"], _waited(context.block.evidence))),
    (words.STOP_TIMEOUT, _stop_timeout),
    (words.WATCHDOG, _watchdog),
    (words.ASKED, _asked),
    (words.TOO_QUICK, lambda found, context: _start_limit(found["unit"], _counted(context))),
    (words.RESULT, _result),
)

SIGNATURE = Signature(match, match_line, literals=("Job for ",))
