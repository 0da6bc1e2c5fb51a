#!/usr/bin/python
"""Waits until units run for good: the same run for some seconds, an answer over HTTP, and the configuration loaded."""

from __future__ import annotations

import http.client
import re
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
    a signal says nothing of how it ended. So a unit counts as running after some seconds of the same run; one with C(at) has to
    answer C(path) there as well, and one with C(config) has to say in its metrics that it loaded this file since it was written.
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
STEADY_SECONDS = 3.0
_AGAIN_SECONDS = 0.5
_ANSWER_SECONDS = 5.0
_MOST_BYTES = 8 << 20
_SHOWN = ("ActiveState", "SubState", "Result", "NRestarts", "ActiveEnterTimestampMonotonic")


class Unit(NamedTuple):
    """What is asked of one unit."""

    name: str
    at: str
    path: str
    config: str
    metrics: str

    def problem(self) -> str:
        """Why it doesn't run for good, as far as can be seen now; empty if it does."""
        return unsteady(_shown(self.name), time.monotonic()) or (self.unanswered() if self.at else "")

    def unanswered(self) -> str:
        """What is wrong with its answers; empty if nothing is. Raises OSError where the configuration isn't there."""
        try:
            status, _ = _get(self.at, self.path)
            said = _get(self.at, "/metrics")[1] if self.config else ""
        except (OSError, http.client.HTTPException, ValueError) as error:
            return f"doesn't answer at {self.at}: {error or type(error).__name__}"
        if status >= http.client.INTERNAL_SERVER_ERROR:
            return f"isn't ready, {self.path} answers {status}"
        return self._unloaded(said) if self.config else ""

    def _unloaded(self, said: str) -> str:
        """Its own metrics say how its last try to load the configuration ended, and when the last good one was."""
        if _value(said, f"{self.metrics}_last_reload_successful") != 1:
            return f"refuses its configuration, and runs with what it loaded before ({self.config})"
        written = Path(self.config).stat().st_mtime
        if _value(said, f"{self.metrics}_last_reload_success_timestamp_seconds") < written <= time.time():
            return f"has not loaded {self.config} since it was written"
        return ""


def _shown(name: str) -> dict[str, str]:
    argv = ("systemctl", "show", f"--property={','.join(_SHOWN)}", f"{name}.service")
    done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=_ANSWER_SECONDS, check=True)
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def unsteady(shown: dict[str, str], now: float) -> str:
    """What is wrong with how systemd has it, `now` in seconds of the monotonic clock; empty if nothing is."""
    state = "{ActiveState} ({SubState}), result {Result}, {NRestarts} restarts".format_map(dict.fromkeys(_SHOWN, "?") | shown)
    if shown.get("ActiveState") != "active":
        return f"is {state}"
    ran = now - int(shown.get("ActiveEnterTimestampMonotonic") or 0) / 1e6
    return "" if ran >= STEADY_SECONDS else f"has run for {ran:.1f} s only, {state}"


def _get(at: str, path: str) -> tuple[int, str]:
    """Status and text. Raises OSError, HTTPException, ValueError."""
    connection = http.client.HTTPConnection(at, timeout=_ANSWER_SECONDS)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read(_MOST_BYTES).decode("utf-8", "replace")
    finally:
        connection.close()


def _value(said: str, metric: str) -> float:
    """A metric without labels; 0 if there is none."""
    found = re.search(rf"^{re.escape(metric)} (\S+)$", said, re.MULTILINE)
    return float(found[1]) if found else 0.0


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
        told = [f"{name} {problem}: journalctl -u {name} -n 20 on the host says why" for name, problem in found.items()]
        module.fail_json(msg="\n".join(told))
    module.exit_json(changed=False)


if __name__ == "__main__":
    main()
