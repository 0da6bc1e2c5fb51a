"""The lab itself: labs side by side, repair, a clean end, and the stand-in nvidia-smi."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.lab import SCRIPT, HostState, Lab, LabError

UNREACHABLE = 255  # ssh(1): an error of ssh itself


@pytest.fixture(scope="module")
def own() -> Iterator[Lab]:
    """A lab for this file alone: its hosts are crashed, cut and frozen."""
    lab = Lab("labtest-a")
    lab.down()
    lab.up()
    yield lab
    lab.down()


@pytest.fixture
def spare() -> Iterator[Lab]:
    """A second lab, for one test."""
    lab = Lab("labtest-b")
    lab.down()
    yield lab
    lab.down()


def answers(lab: Lab, host: str) -> bool:
    return lab.ssh(host, "true", connect_timeout=1).returncode == 0


def answers_soon(lab: Lab, host: str, seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
    while not answers(lab, host):  # each try waits up to a second by itself
        if time.monotonic() > deadline:
            return False
    return True


def traces(lab: Lab) -> list[str]:
    """Everything on this machine that carries the lab's name or number."""
    tag = f"ddtree-lab-{lab.name}"
    found = [str(path) for path in Path("/sys/fs/cgroup").glob(f"*/{tag}")]
    found += [str(path.parent) for path in Path("/sys/class/net").glob("*/ifalias") if tag in path.read_text().split()]
    for table in ("raw", "filter", "nat"):
        rules = subprocess.run(("iptables", "-w", "-t", table, "-S"), capture_output=True, text=True, check=True).stdout
        found += [rule for rule in rules.splitlines() if tag in rule.split()]
    found += [line for line in Path("/proc/mounts").read_text().splitlines() if f"{lab.state}/" in line]
    return found + [str(path) for path in (lab.state,) if path.exists()]


def links(lab: Lab) -> set[str]:
    """Network devices of the lab: bridge, host links, delay lines."""
    number = (lab.state / "number").read_text().strip()
    names = [path.name for path in Path("/sys/class/net").iterdir()]
    return {name for name in names if name == f"dl{number}br" or name.startswith((f"dl{number}-", f"vb-dl{number}-"))}


def still_there(devices: set[str]) -> set[str]:
    return {name for name in devices if Path("/sys/class/net", name).exists()}


def test_hosts_answer_under_their_names(own: Lab) -> None:
    for name, host in own.hosts().items():
        done = own.ssh(name, "hostname; cat /etc/hostname; systemctl is-system-running --wait; ip -4 -o address show host0")
        hostname, in_file, state, address = done.stdout.splitlines()
        assert (hostname, in_file, state) == (name, name, "running")
        assert f" {host.address}/24 " in address


def test_an_unknown_host_key_is_refused(own: Lab, tmp_path: Path) -> None:
    config = tmp_path / "ssh_config"
    known = own.state / "known_hosts"
    config.write_text(own.ssh_config.read_text().replace(str(known), str(tmp_path / "empty")))
    done = subprocess.run(("ssh", "-F", str(config), "ct200", "true"), capture_output=True, text=True, check=False)
    assert done.returncode == UNREACHABLE
    assert "Host key verification failed" in done.stderr


def test_up_again_changes_nothing(own: Lab) -> None:
    before = (own.hosts(), own.boot_id("ct200"), own.boot_id("b300"), (own.state / "known_hosts").read_text())
    own.up()
    assert (own.hosts(), own.boot_id("ct200"), own.boot_id("b300"), (own.state / "known_hosts").read_text()) == before


def test_up_repairs_a_crashed_host_and_leaves_the_other(own: Lab) -> None:
    own.sh("ct200", "sh", "-c", "echo kept >/root/kept; sync")
    crashed, other = own.boot_id("ct200"), own.boot_id("b300")
    own.crash("ct200")
    assert own.hosts()["ct200"].state is HostState.DOWN
    own.up()
    assert own.sh("ct200", "cat", "/root/kept") == "kept\n"
    assert own.boot_id("ct200") != crashed
    assert own.boot_id("b300") == other


def test_up_repairs_a_host_whose_supervisor_was_killed(own: Lab) -> None:
    mounts = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
    cgroup2 = next(Path(point) for _, point, kind, *_ in mounts if kind == "cgroup2")
    host = cgroup2 / f"ddtree-lab-{own.name}" / "b300"
    pids = [pid for part in (".", "supervisor") for pid in (host / part / "cgroup.procs").read_text().split()]
    for pid in pids:
        os.kill(int(pid), signal.SIGKILL)
    own.up()
    assert answers(own, "b300")


def test_reboot_is_a_new_boot(own: Lab) -> None:
    before = own.boot_id("b300")
    own.reboot("b300")
    assert own.boot_id("b300") != before
    assert len(own.sh("b300", "journalctl", "--list-boots", "--no-pager", "--quiet").splitlines()) >= 2


@pytest.mark.parametrize(("disturb", "mend"), [("cut", "heal"), ("unplug", "plug"), ("freeze", "thaw")])
def test_disturbances_end_when_mended(own: Lab, disturb: str, mend: str) -> None:
    own.run(disturb, "ct200")
    assert not answers(own, "ct200")
    own.run(mend, "ct200")
    assert answers_soon(own, "ct200")  # systemd-networkd takes a moment with a new carrier


def test_a_cut_host_does_not_reach_its_neighbours(own: Lab) -> None:
    ping = ("sh", "ct200", "ping", "-q", "-c", "1", "-W", "1", own.hosts()["b300"].address)
    own.run(*ping)
    own.cut("ct200")
    with pytest.raises(LabError, match="exit code 1"):
        own.run(*ping)
    assert own.sh("ct200", "cat", "/sys/class/net/host0/carrier") == "1\n"
    own.up("ct200")  # also heals
    own.run(*ping)


def test_delay_lengthens_the_round_trip(own: Lab) -> None:
    ping = ("sh", "ct200", "ping", "-q", "-c", "3", "-i", "0.1", own.hosts()["b300"].address)
    own.delay("b300", 60)
    slow = float(own.run(*ping).rsplit("=", 1)[1].split("/")[0])
    own.delay("b300", 0)
    quick = float(own.run(*ping).rsplit("=", 1)[1].split("/")[0])
    assert quick < 60 <= slow


def test_two_labs_do_not_meet(own: Lab, spare: Lab) -> None:
    spare.up("ct200")
    assert own.hosts()["ct200"].address != spare.hosts()["ct200"].address
    assert own.boot_id("ct200") != spare.boot_id("ct200")
    assert not links(own) & links(spare)
    spare.down()
    assert traces(spare) == []
    assert answers(own, "ct200")
    assert own.ssh("ct200", "getent hosts localhost").returncode == 0


def test_down_cleans_up_whatever_state_the_lab_is_in(spare: Lab) -> None:
    spare.up("ct200", "b300")
    spare.cut("ct200")
    spare.delay("b300", 20)
    spare.freeze("b300")
    devices = links(spare)
    assert len(devices) == 6  # bridge, two host links, delay line: a bridge and two taps
    spare.down()
    assert traces(spare) == []
    assert still_there(devices) == set()


def test_down_finds_a_lab_whose_state_was_lost(spare: Lab) -> None:
    spare.up("ct200")
    devices = links(spare)
    shutil.rmtree(spare.state)
    spare.down()
    assert traces(spare) == []
    assert still_there(devices) == set()


def test_machine_limits_are_put_back(tmp_path: Path) -> None:
    """In a network namespace of its own, where no other lab holds the setting."""
    script = f"""
        set -euo pipefail
        mount -t sysfs sysfs /sys; sysctl -qw net.ipv4.ip_forward=0
        LABS={tmp_path} STATE={tmp_path}/x TAG=ddtree-lab-x
        . {SCRIPT.parent}/network.sh
        set_machine_limit net.ipv4.ip_forward 1; sysctl -n net.ipv4.ip_forward
        ip link add dl7br type bridge; ip link set dl7br alias ddtree-lab-other
        restore_machine_limits; sysctl -n net.ipv4.ip_forward
        ip link delete dl7br
        restore_machine_limits; sysctl -n net.ipv4.ip_forward
    """
    argv = ("unshare", "--net", "--mount", "bash", "-c", script)
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "1", "0"]
    assert list(tmp_path.iterdir()) == []


def test_without_root_one_line_says_so() -> None:
    may_read = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")  # the checkout may lie below /root
    nobody = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", *may_read)
    done = subprocess.run((*nobody, "bash", str(SCRIPT), "up"), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "needs root" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_wrong_names_are_refused(own: Lab) -> None:
    for args, message in ((("up", "Host"), "host name"), (("up", "x=h100"), "no GPU profile"), (("cut", "x"), "no host")):
        with pytest.raises(LabError, match=message):
            own.run(*args)
    assert set(own.hosts()) == {"ct200", "b300"}


def test_models_are_checkpoints_of_the_promised_size(own: Lab) -> None:
    program = """
import json, pathlib
target, draft = pathlib.Path("/srv/models/kimi-k2.6"), pathlib.Path("/srv/models/kimi-k2.6-dflash")
index = json.loads((target / "model.safetensors.index.json").read_text())
shards = {target / name for name in index["weight_map"].values()}
for shard in shards:
    head = shard.open("rb").read(4096)
    assert json.loads(head[8 : 8 + int.from_bytes(head[:8], "little")]).keys() <= index["weight_map"].keys()
block = json.loads((draft / "config.json").read_text())["block_size"]
print(len(shards), sum(shard.stat().st_size for shard in shards), len(list(draft.glob("*.safetensors"))), block)
"""
    assert own.sh("ct200", "python3", "-c", program).split() == ["64", str(64 << 20), "1", "8"]


def test_pip_and_uv_reach_the_package_index(own: Lab) -> None:
    commands = (
        "cd $(mktemp -d)",
        "python3 -m venv v",
        "v/bin/pip install -q uv",
        "v/bin/uv venv -q w",
        "VIRTUAL_ENV=w v/bin/uv pip install -q six",
        "w/bin/python -c 'import six'",
    )
    done = own.ssh("ct200", " && ".join(commands))
    assert done.returncode == 0, done.stderr
    unit = own.sh("ct200", "systemd-run", "--wait", "--pipe", "--quiet", "env")
    assert "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt" in unit.splitlines()
