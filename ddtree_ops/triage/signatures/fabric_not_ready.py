"""CUDA error 802: the NVSwitch fabric wasn't brought up, so no process can use the GPUs."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

_NOT_READY = re.compile(
    r"Error 802: |[Ss]ystem not yet initialized|\bcudaErrorSystemNotReady\b|\bCUDA_ERROR_SYSTEM_NOT_READY\b|runtime error \(802\)"
)


def match(context: Context) -> Finding | None:
    """In an exception, or in torch's warning before the exception that no GPU is there."""
    if context.search(_NOT_READY) is None:
        return None
    return Finding(
        kind=Kind.FABRIC_NOT_READY,
        title="The GPUs' fabric is not ready (CUDA error 802)",
        cause="The GPUs wait for the NVSwitch fabric: the fabric manager isn't running, is of another version than the driver, or"
        " hasn't finished.",
        fixes=(
            "systemctl status nvidia-fabricmanager; install the version of the driver exactly, start it before the server.",
            "nvidia-smi -q shows the fabric's state and status for each GPU; on B300 look at NVLSM too.",
        ),
        confidence=Confidence.CERTAIN,
    )


SIGNATURE = Signature(match)
