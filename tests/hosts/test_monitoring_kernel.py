"""What only a host with a kernel of its own can show: an Xid of the driver and a real kill by the kernel for want of memory.

Emulation is slow, so the playbook sets up an ordinary lab host, and the virtual one begins as its copy.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hosts.lab import Lab, wait_for
from tests.hosts.monitored import SLACK, Monitored, Pace, monitored

pytestmark = pytest.mark.kernel
VM, LIKE, WATCH = "vm", "like", "watch-vm"  # not test_monitoring.py's: Prometheus remembers
PACE = Pace(faster=40, interval=5)  # a scrape of an emulated machine may take seconds
XID = "NVRM: Xid (PCI:{bus}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
# The lab has no time service: tells the kernel that its clock is right (adjtimex(2): ADJ_STATUS, ADJ_MAXERROR; struct timex).
CLOCK_IS_RIGHT = "import ctypes; t = (ctypes.c_long * 26)(0x14); ctypes.CDLL(None).adjtimex(t)"
HOG = "import sys; x = [b'x' * 2**20 for _ in range(400)]"


@pytest.fixture(scope="module")
def chain(empty_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitored]:
    empty_lab.up(LIKE, WATCH)
    before = monitored(empty_lab, tmp_path_factory.mktemp("like"), LIKE, WATCH, PACE)
    played = before.play("--limit", LIKE)
    assert played.returncode == 0, played.stdout
    empty_lab.stop(LIKE)
    empty_lab.run("vm-up", VM, LIKE, timeout=1200)
    empty_lab.sh(VM, "python3", "-c", CLOCK_IS_RIGHT)
    # Emulation has little to share.
    empty_lab.sh(VM, "systemctl", "set-property", "--runtime", "ddtree-exporter.service", "CPUQuota=")
    chain = monitored(empty_lab, tmp_path_factory.mktemp("kernel"), VM, WATCH, PACE)
    played = chain.play("--limit", WATCH)
    assert played.returncode == 0, played.stdout
    yield chain
    empty_lab.stop(WATCH)
    empty_lab.crash(VM)


def test_the_kernel_kills_for_want_of_memory(chain: Monitored) -> None:
    """The rules take a count for new that is above all that was seen before: there has to be a before."""
    wait_for("all targets up", lambda: len(chain.query("up == 1")) >= 4, SLACK)
    wait_for("the kernel's log was read", lambda: chain.query("host:kernel_log:seen"), PACE.seconds(900) + 3 * SLACK)
    assert chain.told() == set()
    chain.sh(VM, f'systemd-run --quiet --wait -p MemoryMax=60M -p MemorySwapMax=0 python3 -c "{HOG}" || true')
    alerts = chain.expect("KernelKilledOther", within=PACE.told)
    assert {one.labels["host"] for one in alerts} == {VM}
    assert alerts[0].notes["command"] == f"ddtree-ops triage --host {VM} --since -2h"
    assert "Killed process" in chain.sh(VM, "journalctl --dmesg --quiet --grep 'Killed process'")
    chain.gone("KernelKilledOther", within=PACE.seconds(900) + SLACK)


def test_an_xid(chain: Monitored) -> None:
    """A process can't write with the kernel's facility, and journald takes the first word of others for a program's name."""
    address = chain.sh(VM, "nvidia-smi --query-gpu=pci.bus_id --format=csv,noheader --id=3").strip()
    line = XID.format(bus=address[-12:-2])
    chain.sh(VM, f'echo "<3>kernel: {line}" >/dev/kmsg')
    alerts = chain.expect("GpuXid", within=PACE.told)
    assert [(one.labels["host"], one.labels["xid"]) for one in alerts] == [(VM, "79")]
    assert alerts[0].labels["gpu"] in ("3", address[-12:-2].lower()), "its index, unless nvidia-smi was too slow to ask"
    assert "GPU" in alerts[0].notes["cause"]
