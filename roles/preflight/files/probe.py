"""Try a staged release on the host's GPUs, in a minute or two, before a model is loaded for seven: `python probe.py JSON`.

Run by the release's own Python (3.11 or newer). JSON is an object, all of it optional: ranks (default all GPUs), sizes (bytes of
an all-reduce), seconds (for each part), environment (of the server), sglang (the pinned version), force (although GPUs are in
use). What may hang (imports, compiler, collective) is done by `probe_parts.py` in process groups of their own, which are killed
for certain; this one waits for none of them longer than their time. The answer is `{"findings": [...], "facts": {...}}`.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

PARTS = Path(__file__).with_name("probe_parts.py")
SECONDS = 60.0
SIZES = (8, 512 << 10, 32 << 20)
MOST_USED_MIB = 2000
MOST_BYTES = 1 << 20
GRACE_SECONDS = 3.0
BROKEN_NCCL = "2.26.2"
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


class Part:
    """A part of the probe in a process group of its own: lines of JSON, and what it said on stderr."""

    def __init__(self, name: str, environment: dict[str, str], arguments: dict[str, object]) -> None:
        self.name = name
        self.lines: list[dict[str, object]] = []
        self.said = b""
        argv = (sys.executable, "-P", str(PARTS), name, json.dumps(arguments))
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
            preexec_fn=lambda: _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL),
        )
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._read, self._listen)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            try:
                found = json.loads(line[:MOST_BYTES])
            except ValueError:
                continue  # a library's own words
            if isinstance(found, dict):
                self.lines.append(found)

    def _listen(self) -> None:
        while data := self.process.stderr.read1(1 << 16) if self.process.stderr else b"":
            self.said = (self.said + data)[-MOST_BYTES:]

    def wait(self, deadline: float) -> bool:
        """Whether it ended by itself; else all of it is killed."""
        try:
            self.process.wait(max(0.0, deadline - time.monotonic()))
            ended = True
        except subprocess.TimeoutExpired:
            ended = False
        self.kill()
        for thread in self._threads:
            thread.join(GRACE_SECONDS)
        return ended

    def kill(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return

    def last_words(self) -> list[str]:
        """The end of its stderr, for evidence."""
        lines = [line.strip() for line in self.said.decode("utf-8", "replace").splitlines() if line.strip()]
        return ["".join(letter for letter in line if letter.isprintable())[:400] for line in lines[-4:]]


class Probe:
    """The parts, one after the other, and what they mean."""

    def __init__(self, wanted: dict[str, object]) -> None:
        self.wanted = wanted
        self.seconds = float(str(wanted.get("seconds") or SECONDS))
        self.findings: list[dict[str, object]] = []
        self.facts: dict[str, object] = {}

    def run(self, folder: str) -> None:
        """All of it, with compiled kernels in `folder`: what is in a cache would prove nothing."""
        busy = gpus_in_use() if not self.wanted.get("force") else ""
        if busy:
            self.find(
                "probe", "warning", f"not probed: {busy}", "idle GPUs", "probe while no server runs (ddtree-ops stop)", [busy]
            )
            return
        environment = {**os.environ, **{str(k): str(v) for k, v in dict(self.wanted.get("environment") or {}).items()}}
        for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TVM_FFI_CACHE_DIR", "FLASHINFER_WORKSPACE_BASE"):
            environment[name] = f"{folder}/{name.lower()}"
        environment["PYTHONUNBUFFERED"] = "1"
        if not self.versions(environment):
            return
        self.triton(environment)
        self.collective(environment, folder)

    def find(self, check: str, severity: str, found: str, expected: str, fix: str, evidence: list[str]) -> None:
        row = {"check": check, "severity": severity, "found": found[:400], "expected": expected, "fix": fix, "evidence": evidence}
        self.findings.append(row)

    def versions(self, environment: dict[str, str]) -> bool:
        """sglang, sgl_kernel, torch and NCCL, as they import; whether it makes sense to go on."""
        part = Part("versions", environment, {})
        ended = part.wait(time.monotonic() + self.seconds)
        facts = {str(key): value for line in part.lines for key, value in line.items()}
        self.facts["versions"] = facts
        if str(facts.get("torch_error", "")).startswith("ModuleNotFoundError"):
            severity = "error" if self.wanted.get("sglang") else "warning"
            evidence = [str(facts["torch_error"])]
            self.find(
                "probe", severity, "not probed: this release has no torch", "torch", "probe a release with SGLang", evidence
            )
            return False
        fix = "a lock with wheels for this GPU and this CUDA; see the evidence"
        problem = facts.get("sgl_kernel_error") or facts.get("torch_error")
        if problem or not ended:
            found = f"sgl_kernel can't be imported: {problem}" if problem else f"no import in {self.seconds:.0f} s"
            self.find("kernel_wheel", "error", found, "an import", fix, part.last_words() or [str(problem or "no words")])
        self._judge(facts, ended)
        return True

    def _judge(self, facts: dict[str, object], ended: bool) -> None:
        pinned, has = self.wanted.get("sglang"), facts.get("sglang") or facts.get("sglang_error")
        if ended and (facts.get("sglang_error") or (pinned and has != pinned)):
            fix, evidence = "stage the release anew: ddtree-ops deploy", [f"sglang.__version__: {has}"]
            self.find("sglang_version", "error", f"sglang is {has}", str(pinned or "an import"), fix, evidence)
        if facts.get("nccl") == BROKEN_NCCL:
            evidence = [f"torch.cuda.nccl.version(): {BROKEN_NCCL}"]
            self.find("nccl_version", "warning", f"NCCL {BROKEN_NCCL}", "another one", "a lock with a newer NCCL", evidence)

    def triton(self, environment: dict[str, str]) -> None:
        """A kernel of one line, compiled anew and run."""
        part = Part("triton", environment, {})
        ended = part.wait(time.monotonic() + self.seconds)
        facts = {key: value for line in part.lines for key, value in line.items()}
        self.facts["triton"] = facts
        if facts.get("right") is not True:
            found = "a Triton kernel of one line gives a wrong answer" if "right" in facts else "no Triton kernel can be compiled"
            found += "" if ended else f" in {self.seconds:.0f} s"
            fix = "TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas, of the lock's CUDA"
            self.find("ptxas_arch", "error", found, "y = x + 1", fix, part.last_words() or [str(facts)])

    def collective(self, environment: dict[str, str], folder: str) -> None:
        """All ranks reduce a few sizes; the first that hangs, fails or gives a wrong sum is told."""
        versions = self.facts["versions"]
        seen = versions.get("gpus") if isinstance(versions, dict) else None
        ranks = int(str(self.wanted.get("ranks") or seen or 0))
        if ranks < 1:
            self.find(
                "p2p_functional",
                "error",
                "torch sees no GPU",
                "all GPUs",
                "see kernel_wheel and the driver",
                [f"{versions}"[:400]],
            )
            return
        sizes = list(self.wanted.get("sizes") or SIZES)  # type: ignore[call-overload]
        arguments = {"ranks": ranks, "sizes": sizes, "store": f"{folder}/store", "seconds": self.seconds}
        parts = [Part("rank", environment, {**arguments, "rank": rank}) for rank in range(ranks)]
        # Besides the collectives each rank imports torch and makes a context.
        deadline = time.monotonic() + 2 * self.seconds
        ended = [part.wait(deadline) for part in parts]
        done = [[line for line in part.lines if "bytes" in line] for part in parts]
        self.facts["collective"] = {"ranks": ranks, "rank_0": done[0]}
        for size in sizes:
            missing = [
                rank
                for rank, lines in enumerate(done)
                if not any(line["bytes"] == size and line["right"] is True for line in lines)
            ]
            if missing:
                self._failed(size, missing, parts, ended)
                return

    def _failed(self, size: int, missing: list[int], parts: list[Part], ended: list[bool]) -> None:
        first = parts[missing[0]]
        wrong = any(line.get("bytes") == size and line.get("right") is False for part in parts for line in part.lines)
        how = "gives a wrong sum" if wrong else ("hangs" if not all(ended) else "fails")
        found = f"an all-reduce of {size} B over {len(parts)} ranks {how} (ranks {', '.join(map(str, missing[:8]))})"
        fix = "mend IOMMU and ACS, or NCCL's settings, before the load; NCCL_P2P_DISABLE=1 shows whether peer access is to blame"
        self.find("p2p_functional", "error", found, "the right sum in every size", fix, first.last_words() or ["no words"])


def gpus_in_use() -> str:
    """Which GPUs have more memory in use than an idle driver takes; empty for none, or where nobody can be asked."""
    argv = ("nvidia-smi", "--query-gpu=index,memory.used", "--format=csv,noheader,nounits")
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=15, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    rows = [line.split(",") for line in done.stdout.splitlines()]
    used = {row[0].strip(): row[1].strip() for row in rows if len(row) > 1 and row[1].strip().isdigit()}
    return ", ".join(f"{mib} MiB of GPU {index} are in use" for index, mib in used.items() if int(mib) > MOST_USED_MIB)


def main() -> None:
    """Print the answer; whatever happens, there is one."""
    probe = Probe(json.loads(sys.argv[1]) if len(sys.argv) > 1 else {})
    with tempfile.TemporaryDirectory(prefix="ddtree-probe-", ignore_cleanup_errors=True) as folder:
        try:
            probe.run(folder)
        except Exception as error:
            probe.find("probe", "error", f"{type(error).__name__}: {error}", "an answer", "see the evidence", [repr(error)[:400]])
    json.dump({"findings": probe.findings, "facts": probe.facts}, sys.stdout)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
