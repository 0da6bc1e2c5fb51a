"""What only a host with a kernel of its own can show: an Xid of the driver and a real kill by the kernel for want of memory.

Emulation is slow, so the playbook sets up an ordinary lab host, and the virtual one begins as its copy.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hosts.lab import Lab
from tests.hosts.monitored import FASTER, Monitored, monitored, wait_for

pytestmark = pytest.mark.kernel
VM, LIKE, WATCH = "vm", "like", "watch-vm"  # not test_monitoring.py's: Prometheus remembers
SLACK = 30.0
INTERVAL = 3  # seconds; a scrape may take as long
XID = "NVRM: Xid (PCI:{bus}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
# The lab has no time service: tells the kernel that its clock is right (adjtimex(2): ADJ_STATUS, ADJ_MAXERROR; struct timex).
CLOCK_IS_RIGHT = "import ctypes; t = (ctypes.c_long * 26)(0x14); ctypes.CDLL(None).adjtimex(t)"
HOG = "import sys; x = [b'x' * 2**20 for _ in range(400)]"


@pytest.fixture(scope="module")
def chain(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitored]:
    lab.up(LIKE, WATCH)
    before = monitored(lab, tmp_path_factory.mktemp("like"), LIKE, WATCH)
    played = before.play("--limit", LIKE)
    assert played.returncode == 0, played.stdout
    lab.stop(LIKE)
    lab.run("vm-up", VM, LIKE, timeout=600)
    lab.sh(VM, "python3", "-c", CLOCK_IS_RIGHT)
    lab.sh(VM, "systemctl", "set-property", "--runtime", "ddtree-exporter.service", "CPUQuota=")  # emulation has little to share
    chain = monitored(lab, tmp_path_factory.mktemp("kernel"), VM, WATCH, INTERVAL)
    played = chain.play("--limit", WATCH)
    assert played.returncode == 0, played.stdout
    yield chain
    lab.stop(WATCH)
    lab.crash(VM)


def test_the_kernel_kills_for_want_of_memory(chain: Monitored) -> None:
    """The rules take a count for new that is above all that was seen before: there has to be a before."""
    wait_for("all targets up", lambda: len(chain.query("up == 1")) >= 4, SLACK)
    wait_for("the kernel's log was read", lambda: chain.query("host:kernel_log:seen"), 900 / FASTER + 3 * SLACK)
    assert chain.told() == set()
    chain.sh(VM, f'systemd-run --quiet --wait -p MemoryMax=60M -p MemorySwapMax=0 python3 -c "{HOG}" || true')
    alerts = chain.expect("KernelKilledOther", within=2 * INTERVAL + SLACK)
    assert {one.labels["host"] for one in alerts} == {VM}
    assert alerts[0].notes["command"] == f"ddtree-ops triage --host {VM} --since -2h"
    assert "Killed process" in chain.sh(VM, "journalctl --dmesg --quiet --grep 'Killed process'")
    chain.gone("KernelKilledOther", within=900 / FASTER + SLACK)


def test_an_xid(chain: Monitored) -> None:
    """A process can't write with the kernel's facility, and journald takes the first word of others for a program's name."""
    address = chain.sh(VM, "nvidia-smi --query-gpu=pci.bus_id --format=csv,noheader --id=3").strip()
    line = XID.format(bus=address[-12:-2])
    chain.sh(VM, f'echo "<3>kernel: {line}" >/dev/kmsg')
    alerts = chain.expect("GpuXid", within=2 * INTERVAL + SLACK)
    assert [(one.labels["host"], one.labels["xid"]) for one in alerts] == [(VM, "79")]
    assert alerts[0].labels["gpu"] in ("3", address[-12:-2].lower()), "its index, unless nvidia-smi was too slow to ask"
    assert "GPU" in alerts[0].notes["cause"]
