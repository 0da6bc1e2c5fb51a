"""Lab hosts of these tests' own, and the record of what came of each fault.

`pytest tests/faults` runs the quick selection; with DDTREE_FAULTS=all (`make faults`) the whole matrix.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.arena import Arena
from tests.faults.matrix import CASES
from tests.faults.table import Results
from tests.hosts.lab import Lab

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
WHOLE = os.environ.get("DDTREE_FAULTS") == "all"
RESULTS = pytest.StashKey[Results]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[RESULTS] = Results()
    # By default SIGTERM would end pytest without its clean-up; as Ctrl-C it runs every fixture's end.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # Ignored where a shell runs us in the background, and so by every command that we start and interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        cases = [case for case in CASES if case.fault in metafunc.module.FAULTS]
        marks = {False: [pytest.mark.whole], True: []}
        metafunc.parametrize("case", [pytest.param(case, id=case.id, marks=marks[case.in_ci]) for case in cases])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """All of this folder needs real hosts; the whole matrix only runs where it is asked for."""
    ours = [item for item in items if HERE in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.hosts)
    left_out = [] if WHOLE else [item for item in ours if item.get_closest_marker("whole")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def fault_lab() -> Iterator[Lab]:
    lab = Lab("-".join(("faults", os.environ.get("PYTEST_XDIST_WORKER", "main"))))
    lab.down()  # what a killed run may have left
    try:
        yield lab
    finally:
        lab.down()


@pytest.fixture(scope="session")
def fault_inventory(fault_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("faults") / "inventory"
    shutil.copytree(PROJECT / "inventories" / "lab", target)
    for path in target.rglob("*.yml"):
        path.write_text(path.read_text().replace("/var/lib/ddtree-lab/demo", str(fault_lab.state)))
    return target


@pytest.fixture(scope="session")
def numbers() -> Iterator[int]:
    """Each makes a spec of its own, and so a release that no host has seen."""
    return itertools.count(100)


@pytest.fixture
def ct200(fault_lab: Lab, fault_inventory: Path, numbers: Iterator[int], tmp_path: Path) -> Arena:
    arena = Arena(fault_lab, fault_inventory, "ct200", tmp_path, numbers)
    arena.settle()
    return arena


@pytest.fixture
def small(fault_lab: Lab, fault_inventory: Path, numbers: Iterator[int], tmp_path: Path) -> Arena:
    """b300, with small file systems of their own below /opt/ddtree and /var/lib/ddtree: the machine's disk is never filled."""
    arena = Arena(fault_lab, fault_inventory, "b300", tmp_path, numbers, small_disks=True)
    arena.settle()
    return arena


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Rows travel as user properties, also from the workers of pytest-xdist."""
    _REPORTS.append(report)


_REPORTS: list[pytest.TestReport] = []


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return
    results = config.stash[RESULTS]
    results.take(_REPORTS)
    if results.rows:
        terminalreporter.section("faults")
        terminalreporter.write_line(results.table())
        results.write(PROJECT / "build" / "faults.json", whole=WHOLE)
