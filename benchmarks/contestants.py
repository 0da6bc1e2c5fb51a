"""The tools in the race: which command each runs for a scenario, and how its own words show that it did the work."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from benchmarks import peer_tools
from benchmarks.timing import Timed
from benchmarks.work import Work

HERE = Path(__file__).resolve().parent / "peers"
OURS = str(Path(sys.executable).parent / "ddtree-ops")
_RECAP = re.compile(r"ok=(\d+) +changed=(\d+) +unreachable=(\d+) +failed=(\d+)")
_TOTAL = re.compile(r"^ *Grand total +(\d+) +(\d+|-) +-", re.MULTILINE)
PYINFRA_OPERATIONS = 20
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class Scenario(StrEnum):
    """What a host is before the run."""

    FIRST = "first"
    NOOP = "noop"
    CHANGED = "changed"


class WrongWork(Exception):
    """A tool ended otherwise than it should: its time would mean nothing."""


@dataclass(frozen=True)
class Tool:
    """One contestant. `playbooks`: which of Ansible's files it runs in each scenario; None: another program."""

    name: str
    title: str
    config: str = ""
    mitogen: bool = False
    playbooks: dict[Scenario, str] | None = None


_TASKS = {Scenario.FIRST: "roles.yml", Scenario.NOOP: "checks.yml", Scenario.CHANGED: "release.yml"}
_ROLES = dict.fromkeys(Scenario, "roles.yml")
TOOLS = (
    Tool("ours", "ddtree-ops"),
    Tool("plain", "ansible-playbook, plain", "plain.cfg", playbooks=_TASKS),
    Tool("tuned", "ansible-playbook, tuned", "tuned.cfg", playbooks=_TASKS),
    Tool("roles", "ansible-playbook, tuned, with our roles", "tuned.cfg", playbooks=_ROLES),
    Tool("mitogen", "ansible-playbook, tuned, mitogen", "tuned.cfg", mitogen=True, playbooks=_TASKS),
    Tool("pyinfra", "pyinfra"),
)


def tool(name: str) -> Tool:
    """Raises KeyError."""
    return {one.name: one for one in TOOLS}[name]


def command(one: Tool, scenario: Scenario, work: Work, hosts: tuple[str, ...], venv: Path) -> tuple[str, ...]:
    """The words that a person would type."""
    if one.name == "ours":
        named = (word for host in hosts for word in ("--host", host))
        # as the peers: all hosts at once, none ahead of the others
        together = ("--no-canary", "--forks", str(len(hosts))) if len(hosts) > 1 else ()
        return (OURS, "deploy", *named, "--yes", "--format", "json", *together)
    if one.playbooks is None:
        script = "pyinfra_checks.py" if scenario is Scenario.NOOP else "pyinfra_release.py"
        return (str(venv / "bin" / "pyinfra"), "-y", str(HERE / "pyinfra_inventory.py"), str(HERE / script))
    playbook = str(HERE / one.playbooks[scenario])
    restart = json.dumps({"bench_restart": scenario is not Scenario.NOOP})
    inventory = ("-i", str(work.inventory), "-l", ",".join(hosts), "-e", f"@{work.values}", "-e", restart)
    return (str(venv / "bin" / "ansible-playbook"), *inventory, playbook)


@contextmanager
def surroundings(one: Tool, work: Work, venv: Path) -> Iterator[dict[str, str]]:
    """Environment of a run. No tool finds a connection that an earlier run has left open."""
    with tempfile.TemporaryDirectory(prefix="cp-", dir="/tmp") as sockets:
        environment = {
            "DDTREE_OPS_INVENTORY": str(work.inventory),
            "BENCH_VARS": str(work.values),
            "ANSIBLE_SSH_CONTROL_PATH_DIR": sockets,
            "ANSIBLE_NOCOLOR": "1",
            "LC_ALL": "C.UTF-8",
        }
        if one.config:
            environment["ANSIBLE_CONFIG"] = str(HERE / one.config)
        if one.mitogen:
            strategies = str(peer_tools.mitogen_strategies(venv))
            environment |= {"ANSIBLE_STRATEGY": "mitogen_linear", "ANSIBLE_STRATEGY_PLUGINS": strategies}
        try:
            yield environment
        finally:
            for socket in Path(sockets).iterdir():
                subprocess.run(("ssh", "-o", f"ControlPath={socket}", "-O", "exit", "x"), capture_output=True, check=False)


def check(one: Tool, scenario: Scenario, done: Timed, hosts: int) -> None:
    """Raises WrongWork if a tool failed, or changed something where nothing was to be changed, or the reverse."""
    judge = _ours if one.name == "ours" else _ansible if one.playbooks else _pyinfra
    said = f"{done.output[-3000:]}\n{done.errors[-3000:]}"
    if done.code != 0:
        raise WrongWork(f"{one.name}, {scenario}: exit code {done.code}\n{said}")
    whole, changed = judge(_COLOURS.sub("", done.output if one.name == "ours" else done.output + done.errors), hosts)
    if not whole or changed is (scenario is Scenario.NOOP):
        raise WrongWork(f"{one.name}, {scenario}: did the wrong work\n{said}")


def _ours(text: str, hosts: int) -> tuple[bool, bool]:
    """Whether all hosts were looked after, and whether anything changed."""
    outcomes = [report["outcome"] for report in json.loads(text)["hosts"]]
    return len(outcomes) == hosts, any(outcome != "nothing_to_do" for outcome in outcomes)


def _ansible(text: str, hosts: int) -> tuple[bool, bool]:
    rows = _RECAP.findall(text)
    return len(rows) == hosts, any(int(changed) for _, changed, _, _ in rows)


def _pyinfra(text: str, hosts: int) -> tuple[bool, bool]:
    """Of the table at the end: operations, successes (changes), errors, and without a change, over all hosts."""
    found = _TOTAL.search(text)
    return found is not None and int(found[1]) == PYINFRA_OPERATIONS * hosts, found is not None and found[2] != "-"
