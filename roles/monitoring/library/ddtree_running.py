#!/usr/bin/python
"""Waits until units run for good: the same run for some seconds, an answer over HTTP, and the configuration loaded."""

from __future__ import annotations

import math
import re
import socket
import subprocess
import time
from pathlib import Path
from typing import Any, NamedTuple

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: ddtree_running
short_description: Wait until units run steadily, answer, and have loaded their configuration
description:
  - A unit of Type=simple is active from its start on, also one that crashes at once and is started again, and a reload by
    a signal says nothing of how it ended. So a unit counts as running after some seconds of the same run, more of them if systemd
    had to start it again. One with C(at) has to answer C(path) there as well, and one with C(config) has to say in its metrics
    that it loaded this file since it was written. It has to be the same run after all that as before.
  - What is told of one that doesn't holds the last lines of its journal.
  - Changes nothing.
options:
  units:
    type: list
    elements: dict
    required: true
    description: "C(name); C(at), host:port of its HTTP; C(path); C(config), a file; C(metrics), how their names begin."
  timeout: {type: float, default: 30, description: "Seconds until it is given up."}
author: ddtree-ops
"""

ARGUMENTS: dict[str, Any] = {
    "units": {
        "type": "list",
        "elements": "dict",
        "required": True,
        "options": {
            "name": {"type": "str", "required": True},
            "at": {"type": "str", "default": ""},
            "path": {"type": "str", "default": "/metrics"},
            "config": {"type": "str", "default": ""},
            "metrics": {"type": "str", "default": ""},
        },
    },
    "timeout": {"type": "float", "default": 30},
}
STEADY_SECONDS = 6.0
AGAIN_STEADY_SECONDS = 20.0  # of one that systemd had to start again: it may die every few seconds
ANSWER_SECONDS = 5.0  # for the whole of an answer, however slowly it comes
_AGAIN_SECONDS = 0.5
_MOST_BYTES = 8 << 20
_SHOWN = ("ActiveState", "SubState", "Result", "NRestarts", "ActiveEnterTimestampMonotonic", "InvocationID")
_LINES = 12
_LINE_CHARACTERS = 300
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})\b")
_UNAUTHORIZED = 401  # there it is, and wants a password that isn't ours to know


class Unit(NamedTuple):
    """What is asked of one unit."""

    name: str
    at: str
    path: str
    config: str
    metrics: str

    def problem(self) -> str:
        """Why it doesn't run for good, as far as can be seen now; empty if it does."""
        before = _shown(self.name)
        found = unsteady(before, time.monotonic()) or (self.unanswered() if self.at else "")
        return found or other_run(before, _shown(self.name))

    def unanswered(self) -> str:
        """What is wrong with its answers; empty if nothing is. Raises OSError where the configuration isn't there."""
        try:
            status, _ = get(self.at, self.path)
            if not (200 <= status < 400 or status == _UNAUTHORIZED):
                return f"isn't ready, {self.path} answers {status}"
            status, said = get(self.at, "/metrics") if self.config else (200, "")
        except (OSError, ValueError) as error:
            return f"doesn't answer at {self.at}: {error or type(error).__name__}"
        if status != 200:
            return f"doesn't say whether it loaded {self.config}: /metrics answers {status}"
        return self._unloaded(said) if self.config else ""

    def _unloaded(self, said: str) -> str:
        """Its own metrics say how its last try to load the configuration ended, and when the last good one was."""
        try:
            good = _value(said, f"{self.metrics}_last_reload_successful")
            loaded = _value(said, f"{self.metrics}_last_reload_success_timestamp_seconds")
        except ValueError as error:
            return f"doesn't say whether it loaded {self.config}: /metrics {error}"
        if good != 1:
            return f"refuses its configuration, and runs with what it loaded before ({self.config})"
        if loaded < Path(self.config).stat().st_mtime <= time.time():
            return f"has not loaded {self.config} since it was written"
        return ""


def _shown(name: str) -> dict[str, str]:
    argv = ("systemctl", "show", f"--property={','.join(_SHOWN)}", f"{name}.service")
    done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=ANSWER_SECONDS, check=True)
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def unsteady(shown: dict[str, str], now: float) -> str:
    """What is wrong with how systemd has it, `now` in seconds of the monotonic clock; empty if nothing is."""
    state = "{ActiveState} ({SubState}), result {Result}, {NRestarts} restarts".format_map(dict.fromkeys(_SHOWN, "?") | shown)
    if shown.get("ActiveState") != "active":
        return f"is {state}"
    ran = now - int(shown.get("ActiveEnterTimestampMonotonic") or 0) / 1e6
    wanted = STEADY_SECONDS if shown.get("NRestarts", "0") == "0" else AGAIN_STEADY_SECONDS
    return "" if ran >= wanted else f"has run for {ran:.1f} s only, {state}"


def other_run(before: dict[str, str], after: dict[str, str]) -> str:
    """That it is no longer the run that was looked at; empty if it is."""
    same = all(before.get(key) == after.get(key) for key in ("ActiveState", "NRestarts", "InvocationID"))
    return "" if same else f"was started again or ended while it was looked at, {after.get('NRestarts', '?')} restarts"


def get(at: str, path: str) -> tuple[int, str]:
    """Status and text, within ANSWER_SECONDS. Raises OSError, ValueError for what is no HTTP.

    HTTP/1.0: then an answer ends with its connection and comes in one piece (RFC 9112, 6.1), so that nothing is left to parse.
    """
    host, _, port = at.rpartition(":")
    end = time.monotonic() + ANSWER_SECONDS
    answer = bytearray()
    with socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_SECONDS) as connection:
        connection.sendall(f"GET {path} HTTP/1.0\r\nHost: {at}\r\n\r\n".encode())
        while len(answer) < _MOST_BYTES:
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError("timed out")
            connection.settimeout(left)
            if not (part := connection.recv(1 << 16)):
                break
            answer += part
    status = _STATUS.match(answer)
    if status is None:
        raise ValueError(f"{path} answers no HTTP")
    return int(status[1]), bytes(answer).partition(b"\r\n\r\n")[2].decode("utf-8", "replace")


def _value(said: str, metric: str) -> float:
    """A metric, whatever its labels. Raises ValueError if there is none, or no number."""
    found = re.search(rf"^{re.escape(metric)}(?:\{{[^\n]*\}})? (\S+)", said, re.MULTILINE)
    if found is None:
        raise ValueError(f"has no {metric}")
    try:
        value = float(found[1])
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise ValueError(f"has {metric} {found[1][:40]!r}, which is no number")
    return value


def journal(name: str) -> str:
    """The last lines of a unit's journal, bounded and printable; empty if it can't be read."""
    argv = ("journalctl", f"--unit={name}.service", f"--lines={_LINES}", "--output=cat", "--no-pager", "--quiet")
    try:
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=ANSWER_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    lines = ("".join(letter if letter.isprintable() else "?" for letter in line) for line in done.stdout.splitlines()[-_LINES:])
    return "".join(f"\n    {line[:_LINE_CHARACTERS]}" for line in lines)


def problems(units: list[Unit], timeout: float) -> dict[str, str]:
    """What is wrong of each unit that isn't well before `timeout` seconds are over. Raises OSError, SubprocessError."""
    end = time.monotonic() + timeout
    while True:
        found = {unit.name: problem for unit in units if (problem := unit.problem())}
        if not found or time.monotonic() >= end:
            return found
        units = [unit for unit in units if unit.name in found]
        time.sleep(_AGAIN_SECONDS)


def main() -> None:
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    units = [Unit(**given) for given in module.params["units"]]
    try:
        found = problems(units, module.params["timeout"])
    except (OSError, subprocess.SubprocessError) as error:
        module.fail_json(msg=f"the units can't be looked at: {error}")
    if found:
        told = [f"{name} {problem}; its journal ends:{journal(name) or ' (nothing)'}" for name, problem in found.items()]
        module.fail_json(msg="\n".join(told))
    module.exit_json(changed=False)


if __name__ == "__main__":
    main()
