"""What belongs together in a log, recognised while its lines arrive; one recogniser a file.

To add one: a file with a class that has `feed`, `settle`, `flush` and `busy` (`recogniser.py`), and a line here. Every
recogniser sees every line of a run, so `feed` must pass over a line that isn't its own at the cost of a substring test.
"""

from __future__ import annotations

from collections.abc import Callable

from ddtree_ops.triage.blocks.ansible import Ansible
from ddtree_ops.triage.blocks.collective import Collectives
from ddtree_ops.triage.blocks.containers import Containers
from ddtree_ops.triage.blocks.device_assert import DeviceAsserts
from ddtree_ops.triage.blocks.elastic import ElasticTables
from ddtree_ops.triage.blocks.kernel import Kernel
from ddtree_ops.triage.blocks.native_lines import NativeLines
from ddtree_ops.triage.blocks.py_spy import PySpyDumps
from ddtree_ops.triage.blocks.recogniser import Recogniser
from ddtree_ops.triage.blocks.repeated import RepeatedLines
from ddtree_ops.triage.blocks.systemd import Systemd
from ddtree_ops.triage.blocks.terminate import Terminates
from ddtree_ops.triage.blocks.threads import ThreadDumps
from ddtree_ops.triage.blocks.tracebacks import Tracebacks

__all__ = ["LITERALS", "RECOGNISERS", "Recogniser"]

#: In the order in which they see a line.
RECOGNISERS: tuple[Callable[[], Recogniser], ...] = (
    Tracebacks,
    Terminates,
    ThreadDumps,
    PySpyDumps,
    Collectives,
    DeviceAsserts,
    ElasticTables,
    NativeLines,
    RepeatedLines,
    Kernel,
    Systemd,
    Ansible,
    Containers,
)

#: What the lines that begin a block have in them.
LITERALS: tuple[str, ...] = (
    *Tracebacks.literals,
    *Terminates.literals,
    *ThreadDumps.literals,
    *PySpyDumps.literals,
    *Collectives.literals,
    *DeviceAsserts.literals,
    *ElasticTables.literals,
    *NativeLines.literals,
    *RepeatedLines.literals,
    *Kernel.literals,
    *Systemd.literals,
    *Ansible.literals,
    *Containers.literals,
)
