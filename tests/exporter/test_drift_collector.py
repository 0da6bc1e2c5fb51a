"""Drift by kind, by the real look over a folder; only systemctl is a stand-in: there is no manager to ask."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.exporter.collectors.drift import DriftCollector
from ddtree_ops.exporter.releases.drift import KINDS, Evidence, command, count
from ddtree_ops.exporter.releases.installed import Installed
from ddtree_ops.ports import Completed
from tests.exporter.shells import PORT, RELEASE, UNIT, HostFolder

pytestmark = pytest.mark.processes

TEXT = "[Service]\nExecStart=/opt/ddtree/current/venv/bin/python -m sglang_ddtree.launcher\n"
CLEAN = dict.fromkeys(KINDS, 0)


class Host(HostFolder):
    """With a list of the release's files, as staging writes it, and a unit file."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.folder = self.opt / "releases" / RELEASE
        self.unit_file = root / UNIT
        self.unit_file.write_text(TEXT)
        manifest = json.loads((self.folder / "manifest.json").read_text())
        manifest["unit_sha256"] = hashlib.sha256(TEXT.encode()).hexdigest()
        (self.folder / "manifest.json").write_text(json.dumps(manifest))
        (self.folder / "model.py").write_text("one\n")
        found = {path.name: path.stat() for path in self.folder.iterdir()}
        stat = {name: [one.st_size, one.st_mtime_ns, one.st_ino] for name, one in found.items()}
        (self.folder / "files.json").write_text(json.dumps({"schema": "ddtree-ops/files/v1", "stat": stat, "links": {}}))
        self.bin = root / "bin"
        self.bin.mkdir()
        self.boot(RELEASE)
        self.show()

    def show(self, **changed: str) -> None:
        """What systemctl says of the unit."""
        values = {
            "FragmentPath": str(self.unit_file),
            "NeedDaemonReload": "no",
            **self.shell.units[UNIT],
            "MainPID": "0",
            **changed,
        }
        text = "\n".join(f"{key}={value}" for key, value in values.items())
        (self.bin / "show").write_text(text + "\n")
        (self.bin / "systemctl").write_text(f"#!/bin/sh\ncat {self.bin}/show\n")
        (self.bin / "systemctl").chmod(0o755)

    def drift(self) -> dict[str, float]:
        samples = DriftCollector(self.target(), lambda: 1234.4).read()
        assert samples[0].value == 1234
        return {one.labels[0]: one.value for one in samples[1:]}


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    if os.getuid() != 0:
        pytest.skip("a release's files are root's")
    found = Host(tmp_path)
    monkeypatch.setenv("PATH", f"{found.bin}:{os.environ['PATH']}")
    return found


def test_a_host_as_it_was_staged(host: Host) -> None:
    assert host.drift() == CLEAN


def test_what_was_done_to_it_by_kind(host: Host) -> None:
    (host.folder / "model.py").write_text("changed\n")
    (host.folder / "new.py").write_text("x\n")
    (host.folder / "server.json").unlink()
    host.unit_file.write_text(TEXT + "# edited\n")
    (host.opt / "last-good").unlink()
    (host.opt / "last-good").mkdir()
    host.show(NeedDaemonReload="yes")
    assert host.drift() == {**CLEAN, "file": 3, "unit": 2, "link": 1}


def test_a_release_without_its_manifest(host: Host) -> None:
    (host.folder / "manifest.json").write_text("{")
    assert host.drift()["manifest"] == 1


def test_a_switch_without_a_restart(host: Host) -> None:
    host.release("lab-next")
    host.link("current", "lab-next")
    (host.opt / "releases" / "lab-next" / "manifest.json").write_text((host.folder / "manifest.json").read_text())
    host.show(MainPID=str(os.getpid()))
    assert host.drift()["process"] == 2, "another release than the current one, and other arguments than its unit's"
    host.show(ActiveState="activating", SubState="start", MainPID=str(os.getpid()))
    assert host.drift()["process"] == 0, "what loads shows elsewhere"


def test_no_release_at_all(host: Host) -> None:
    (host.opt / "current").unlink()
    assert host.drift() == CLEAN


@pytest.mark.parametrize("target", ["releases/gone", "/tmp/lab-0123456789", "/"])
def test_a_link_that_leads_to_no_release(host: Host, target: str) -> None:
    (host.opt / "current").unlink()
    (host.opt / "current").symlink_to(target)
    assert host.drift()["link"] == 1


def test_systemd_that_cannot_be_asked_is_a_failed_reading(host: Host) -> None:
    (host.bin / "systemctl").write_text("#!/bin/sh\necho no bus; exit 1\n")
    with pytest.raises(HostCommandFailed, match="damaged"):
        host.drift()


@pytest.mark.parametrize("said", ["", "null", "{}", "[1]", '{"units_problem": null}', "[" * 100_000])
def test_an_answer_that_is_none(said: str) -> None:
    done = Completed(command(), 0, said, "", 0.1)
    with pytest.raises(HostCommandFailed):
        count(Evidence(done, Installed({}, frozenset(), dead_man=False), ()), "ct200")


def test_a_look_that_ran_out_of_its_processor_time() -> None:
    done = Completed(command(), 137, "", "Killed\x1b[31m\n", 60)
    with pytest.raises(HostCommandFailed, match="exit code 137"):
        count(Evidence(done, Installed({}, frozenset(), dead_man=False), ()), "ct200")


def test_it_claims_little_of_the_processor() -> None:
    argv = command().argv
    assert argv[:5] == ("nice", "-n", "19", "prlimit", "--cpu=60")
    assert json.loads(argv[10])["every_release"] is False and PORT
