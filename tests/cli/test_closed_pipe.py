"""The reader of a report leaves early."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.processes

PROGRAM = """
from ddtree_ops.cli.show import show_deployments
from ddtree_ops.report.deployment import DeploymentReport, Outcome
one = DeploymentReport("ct200", Outcome.DEPLOYED, 0, "a", None, "a", 1.0, (), evidence=tuple(map(str, range(100000))))
show_deployments([one], "text")
raise SystemExit(8)
"""


def test_a_reader_that_leaves_doesnt_change_the_exit_code() -> None:
    with subprocess.Popen((sys.executable, "-c", PROGRAM), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert process.returncode == 8
