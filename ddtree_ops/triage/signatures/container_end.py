"""How a container ended, as docker or Kubernetes tells it, or why it couldn't be started."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Origin
from ddtree_ops.triage.blocks.containers import EVENT, EXITED, FIELD, INSPECTED, PROBE, STARTING
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature
from ddtree_ops.triage.signatures.exec_permission import match_line as exec_denied
from ddtree_ops.units.whole_number import whole_number

_OOM_KILLED = re.compile(r"Reason: {1,24}OOMKilled|\"OOMKilled\": ?true")
_NVML = re.compile(r"nvml error: (?P<said>[^:]{1,100})|driver/library version mismatch|libnvidia-ml\.so[.\d]*: cannot open")
_NO_RUNTIME = re.compile(
    r"could not select device driver|nvidia-container-(?:cli|runtime)\S{0,20}: (?:executable file )?not found"
)
_SIGNAL_BASE = 128  # docker(1), "exit status": 128 and the signal's number
_KILL, _SEGV, _ABRT, _BUS = 137, 139, 134, 135


def match(context: Context) -> Finding | None:
    """OOMKilled is sure; an exit code alone says what ended it, not why."""
    block = context.block
    if block.origin is not Origin.CONTAINER:
        return None
    if _OOM_KILLED.search(block.text) or any(EVENT.match(line) for line in block.lines):
        return _oom_killed()
    denied = next((finding for line in block.lines if (finding := exec_denied(line))), None)
    if denied:
        return denied
    if any(STARTING.match(line) for line in block.lines):
        return _not_started(block.text)
    if any(PROBE.match(line) for line in block.lines) and not any(_code(line) in (_SEGV, _ABRT, 1) for line in block.lines):
        return _probe()
    code = next((code for line in block.lines if (code := _code(line))), None)
    named = next((found["name"] for line in block.lines if (found := EXITED.match(line))), None)
    return _ended(f"The container {named}" if named else "The container", code) if code else None


def _code(line: str) -> int | None:
    exited, field = EXITED.match(line), FIELD.match(line)
    if exited:
        return int(exited["code"])
    if field:
        return whole_number(field["value"]) if field["name"] == "Exit Code" else None
    found = next((item for item in INSPECTED.finditer(line) if item["name"] == "ExitCode"), None)
    return whole_number(found["value"].removeprefix("-")) if found else None


def _oom_killed() -> Finding:
    return Finding(
        Kind.HOST_OOM,
        "The container reached its memory limit and was killed",
        "The container's cgroup ran out of memory, and the kernel killed a process of it (OOMKilled).",
        (
            "Raise the container's limit (resources.limits.memory, --memory): loading needs more than serving; /dev/shm counts.",
            "Load with fewer threads and without CPU offload.",
        ),
        Confidence.CERTAIN,
    )


def _probe() -> Finding:
    return Finding(
        Kind.UNKNOWN,
        "Kubernetes killed the container: its liveness probe failed",
        "The kubelet asked the server whether it lives, got no answer in time, and killed the container: the server was still"
        " loading, hung, or was too busy to answer.",
        (
            "Give the start its time (startupProbe, or initialDelaySeconds above load, graph capture and warm-up together).",
            "If it served already: look in the container's log of before (kubectl logs --previous) for what it hung in.",
        ),
        Confidence.LIKELY,
    )


def _ended(who: str, code: int) -> Finding:
    if code == _KILL:
        return Finding(
            Kind.SIGKILL_UNKNOWN,
            f"{who} was killed (exit code 137, SIGKILL)",
            f"{who} was ended by SIGKILL. This log doesn't tell who sent it: most often the kernel at the container's memory"
            " limit, else a stop that took too long.",
            (
                "docker inspect (State.OOMKilled), kubectl describe pod (Reason), and the kernel's log: journalctl -k.",
                "If it isn't there: a supervisor or a person sent the signal.",
            ),
            Confidence.LIKELY,
        )
    if code in (_SEGV, _BUS):
        signal = "SIGSEGV" if code == _SEGV else "SIGBUS"
        return Finding(
            Kind.NATIVE_SEGFAULT,
            f"{who} crashed in native code (exit code {code}, {signal})",
            f"The main process of the container died of {signal}.",
            ("Look for the faulting library in the kernel's log (journalctl -k), and at the core dump (coredumpctl).",),
            Confidence.LIKELY,
        )
    signal = f", signal {code - _SIGNAL_BASE}" if code > _SIGNAL_BASE else ""
    fix = "Read the container's own log of that time (docker logs, kubectl logs --previous)."
    return Finding(Kind.UNKNOWN, f"{who} ended with exit code {code}{signal}", None, (fix,), Confidence.UNKNOWN)


def _not_started(text: str) -> Finding:
    nvml = _NVML.search(text)
    if nvml:
        said = nvml["said"] or nvml.group()
        cause = f"The NVIDIA container runtime couldn't talk to the driver of the host ({said.strip()})."
        fix = "nvidia-smi on the host must work first: load or update the driver (after an update of its packages: reboot)."
        return Finding(Kind.UNKNOWN, "The container couldn't be given the GPUs", cause, (fix,), Confidence.LIKELY)
    if _NO_RUNTIME.search(text):
        cause = (
            "docker has no runtime that could give GPUs to a container: the NVIDIA container toolkit is missing or not set up."
        )
        fix = "Install nvidia-container-toolkit, then nvidia-ctk runtime configure --runtime=docker and restart docker."
        return Finding(Kind.UNKNOWN, "The container couldn't be given the GPUs", cause, (fix,), Confidence.LIKELY)
    fix = "Read the end of that line: the container runtime's own words stand there."
    return Finding(Kind.UNKNOWN, "The container couldn't be started", None, (fix,), Confidence.UNKNOWN)


SIGNATURE = Signature(match)
