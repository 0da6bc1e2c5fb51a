"""Prometheus and Alertmanager on one lab host, a server on another: set up by the playbook, asked over HTTP."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.hosts.conftest import Tool
from tests.hosts.lab import Lab

PROJECT = Path(__file__).resolve().parents[2]
RULES = PROJECT / "dashboards" / "prometheus" / "rules"
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"\b(\d+)([smhd])\b")
# Numbers of seconds that rules compare ages with. Others are counts, ratios and Xids.
_AGE = re.compile(r"(?<![\w.\"|])(60|120|300|600|900|1200|3600)(?![\w.\"|])")
# Its age goes by how often the exporter reads the journal, which stays as it is.
_AS_IT_IS = "JournalNotRead"
SLACK = 60.0  # seconds
_LEAST_SAMPLES = 4  # of a range: a rate needs some


@dataclass(frozen=True)
class Pace:
    """What takes the rules `faster` seconds takes the test one. `interval`: of scrapes and rules, seconds."""

    faster: int
    interval: int

    def seconds(self, of_the_rules: float) -> float:
        """How long that takes here."""
        return of_the_rules / self.faster

    @property
    def told(self) -> float:
        """Two evaluations, within which an alert has to be told; and what only tells a slow machine from a silent one."""
        return 2 * self.interval + SLACK


def faster(source: Path, target: Path, pace: Pace) -> None:
    """The rules with all their durations divided; thresholds and everything else as they are."""

    def shorter(found: re.Match[str]) -> str:
        return f"{max(_seconds(found) // pace.faster, _LEAST_SAMPLES * pace.interval)}s"

    target.mkdir(parents=True)
    for file in source.glob("*.yml"):
        content = yaml.safe_load(file.read_text())
        for group in content["groups"]:
            if "interval" in group:
                group["interval"] = f"{pace.interval}s"
            for rule in (rule for rule in group["rules"] if rule.get("alert") != _AS_IT_IS):
                rule["expr"] = _AGE.sub(lambda found: f"{pace.seconds(int(found[1])):g}", _DURATION.sub(shorter, rule["expr"]))
                if "for" in rule:
                    rule["for"] = _DURATION.sub(
                        lambda found: f"{max(_seconds(found) // pace.faster, 2 * pace.interval)}s", rule["for"]
                    )
        (target / file.name).write_text(yaml.safe_dump(content, sort_keys=False))


def _seconds(found: re.Match[str]) -> int:
    return int(found[1]) * _UNIT_SECONDS[found[2]]


@dataclass(frozen=True)
class Alert:
    """One alert as Alertmanager has it."""

    name: str
    labels: Mapping[str, str]
    notes: Mapping[str, str]
    inhibited: bool

    @classmethod
    def of(cls, one: Mapping[str, Any]) -> Alert:
        """An element of /api/v2/alerts."""
        return cls(one["labels"]["alertname"], one["labels"], one["annotations"], bool(one["status"]["inhibitedBy"]))


@dataclass(frozen=True)
class Monitored:
    """A lab with a server `gpu` and a host `watch` that looks at it."""

    lab: Lab
    inventory: Path
    gpu: str
    address: str  # of `watch`

    @property
    def tool(self) -> Tool:
        return Tool(self.inventory)

    def play(self, *flags: str) -> subprocess.CompletedProcess[str]:
        """Run the playbook as docs/monitoring.md says."""
        done = subprocess.run(
            (Path(sys.executable).parent / "ansible-playbook", "-i", self.inventory, "deploy/playbooks/monitoring.yml", *flags),
            cwd=PROJECT,
            env={**os.environ, "ANSIBLE_CONFIG": "deploy/ansible.cfg"},
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        print(done.stdout, done.stderr)  # noqa: T201
        return done

    def sh(self, host: str, command: str) -> str:
        """Run a shell command on a host, without its network; it has to succeed."""
        return self.lab.sh(host, "sh", "-c", command)

    def restart(self, **settings: str) -> None:
        """Start the server anew with these settings of the simulator, and wait until it answers or its fault shows."""
        self.lab.simulator(self.gpu, **settings)
        self.sh(self.gpu, "systemctl reset-failed 'ddtree-server@*'; systemctl restart --no-block ddtree-server@30000")

    def active(self) -> tuple[Alert, ...]:
        """What Alertmanager would tell a person now, inhibited alerts included."""
        found = self.ask(f"http://{self.address}:9093/api/v2/alerts?active=true&inhibited=true")
        return tuple(
            Alert(one["labels"]["alertname"], one["labels"], one["annotations"], bool(one["status"]["inhibitedBy"]))
            for one in found
        )

    def told(self) -> set[str]:
        """Names of alerts that nothing inhibits."""
        return {one.name for one in self.active() if not one.inhibited}

    def query(self, expression: str) -> list[Any]:
        """Series of Prometheus."""
        query = urllib.parse.urlencode({"query": expression})
        return list(self.ask(f"http://{self.address}:9090/api/v1/query?{query}")["data"]["result"])

    def ask(self, url: str) -> Any:
        with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310
            return json.load(answer)

    def expect(self, *names: str, within: float, before: Collection[str] = ()) -> tuple[Alert, ...]:
        """Wait until exactly these alerts are told; any other fails at once. `before`: those that may be told until then."""
        wanted, end = set(names), time.monotonic() + within
        while True:
            told = self.told()
            assert told <= wanted | set(before), f"expected {wanted}, told {told}: {self.active()}"
            if told == wanted:
                return self.active()
            assert time.monotonic() < end, f"expected {wanted} within {within} s, told {told}"
            time.sleep(0.25)

    def gone(self, *names: str, within: float) -> None:
        """Wait until none of these is told any more, and nothing else came."""
        end = time.monotonic() + within
        while told := self.told():
            assert told <= set(names), f"{told - set(names)} came while {names} should go: {self.active()}"
            assert time.monotonic() < end, f"{told} are still told after {within} s"
            time.sleep(0.25)


def monitored(lab: Lab, folder: Path, gpu: str, watch: str, pace: Pace) -> Monitored:
    """inventories/lab with these two hosts in it, which are up; nothing is set up yet."""
    faster(RULES, folder / "rules", pace)
    target = folder / "inventory"
    shutil.copytree(PROJECT / "inventories" / "lab", target)
    for path in target.rglob("*.yml"):
        path.write_text(path.read_text().replace("/var/lib/ddtree-lab/demo", str(lab.state)))
    for file in (target / "host_vars").iterdir():
        file.unlink()
    groups = {"rtx_pro_6000": {"hosts": {gpu: None}}, "monitoring": {"hosts": {watch: None}}}
    (target / "hosts.yml").write_text(yaml.safe_dump({"all": {"children": groups}}))
    addresses = {name: host.address for name, host in lab.hosts().items() if name in (gpu, watch)}
    serving = {"environment": {"SIM_LOAD_SECONDS": "1.5", "SIM_CRASH_SETTLE_SECONDS": "0", "SIM_COREDUMP_SECONDS": "0"}}
    variables: dict[str, dict[str, Any]] = {gpu: {"ddtree_serving": serving}, watch: {}}
    for name, more in variables.items():
        (target / "host_vars" / f"{name}.yml").write_text(
            yaml.safe_dump({"ddtree_monitoring": {"address": addresses[name]}, "monitoring_listen": "::", **more})
        )
    settings = {
        "monitoring_scrape_interval": f"{pace.interval}s",
        "monitoring_prometheus_listen": f"{addresses[watch]}:9090",
        "monitoring_alertmanager_listen": f"{addresses[watch]}:9093",
        "monitoring_rules": str(folder / "rules"),
    }
    (target / "group_vars" / "all" / "monitoring.yml").write_text(yaml.safe_dump(settings))
    return Monitored(lab, target, gpu, addresses[watch])
