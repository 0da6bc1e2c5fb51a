"""Containers' ends: which of them are failures."""

from __future__ import annotations

import pytest

from ddtree_ops.report.entries import triage_bytes
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Verdict


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("server-1 exited with code 137", Kind.SIGKILL_UNKNOWN),
        ("\x1b[36mserver_1 exited with code 139 (restarting)", Kind.NATIVE_SEGFAULT),
        ("server exited with code 1", Kind.UNKNOWN),
        ('{"Status":"exited","Running":false,"OOMKilled":true,"ExitCode":137}', Kind.HOST_OOM),
        ('        "OOMKilled": true,', Kind.HOST_OOM),
        ("docker: Error response from daemon: could not select device driver with capabilities: [[gpu]].", Kind.UNKNOWN),
        ('docker: OCI runtime exec failed: exec: "/opt/run.sh": permission denied: unknown', Kind.EXEC_PERMISSION),
    ],
)
def test_ends(line: str, kind: Kind) -> None:
    report = triage_bytes([line.encode() + b"\n"])
    assert report.verdict is Verdict.FAILURE
    assert report.failures[0].kind is kind
    assert len([item for item in report.failures if item.role.value == "root"]) == 1


@pytest.mark.parametrize(
    "text",
    [
        "server-1 exited with code 0",
        "server-1 exited with code 143",
        "process exited with code 3",
        "  Exit Code: 1",
        '  "ExitCode": 7,',
        "    State:          Running\n    Last State:     Terminated\n      Reason:       Completed\n      Exit Code:    0",
        "  Normal  Created  2m  kubelet  the Liveness probe failed to be explained here",
    ],
)
def test_no_failures(text: str) -> None:
    assert triage_bytes([text.encode() + b"\n"]).verdict is not Verdict.FAILURE


def test_each_container_of_a_pod_is_told() -> None:
    one = "    Last State:     Terminated\n      Reason:       {}\n      Exit Code:    137\n"
    report = triage_bytes(
        [f"  a:\n    State:   Running\n{one.format('Error')}  b:\n    State:   Running\n{one.format('OOMKilled')}".encode()]
    )
    assert {item.kind for item in report.failures} == {Kind.SIGKILL_UNKNOWN, Kind.HOST_OOM}
    assert report.failures[0].kind is Kind.HOST_OOM
    assert report.failures[0].confidence is Confidence.CERTAIN
