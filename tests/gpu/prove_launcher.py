"""The host side against the real SGLang on a GPU: check, launcher, credentials, graceful stop, crash.

Not a part of `make test`: run by hand on a machine with a GPU and SGLang, from the project's root:

    python3 -m tests.gpu.prove_launcher OUT --target MODEL --draft DRAFT [--site DIR] [--crash-algorithm NAME]

`--site` is put on PYTHONPATH (packages that aren't installed); `--crash-algorithm` names an algorithm of an installed plugin
that dies at its first decode. Prints one line per finding, keeps status texts and journals under OUT; exit 1 if one is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.launcher import host
from tests.launcher.conftest import SOURCE
from tests.launcher.host import API_KEY, Launched, launch, server_json

LOAD_TIMEOUT_S = 240.0
# SGLang 0.5.13 derives a gRPC port, 10000 above this one, which must be below 65536: any free port won't do
PORT = 30000
FLAGS = (
    "--attention-backend triton --sampling-backend pytorch --grammar-backend none --disable-piecewise-cuda-graph "
    "--cuda-graph-max-bs 4 --mem-fraction-static 0.2 --max-running-requests 8 --random-seed 1 --enable-metrics"
).split()
KEPT_VARIABLES = ("HOME", "LD_LIBRARY_PATH", "CUDA_HOME", "PATH", "TMPDIR")


class Findings:
    """Prints what was seen and remembers whether all was right."""

    def __init__(self) -> None:
        self.wrong = 0

    def see(self, what: str, right: bool, seen: object) -> None:
        self.wrong += not right
        print(f"{'ok   ' if right else 'WRONG'} {what}: {seen}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--target", required=True)
    parser.add_argument("--draft", required=True)
    parser.add_argument("--site", default="")
    parser.add_argument("--crash-algorithm", default="")
    options = parser.parse_args()
    # the unit's own pace, not the tests' fast one
    host.MAIN = "import sys; from sglang_ddtree.launcher import main; sys.exit(main())"
    findings = Findings()
    check_arguments(findings, options)
    serve_and_stop(findings, options)
    if options.crash_algorithm:
        crash(findings, options)
    return 1 if findings.wrong else 0


def document(options: argparse.Namespace, port: int, algorithm: str, *words: str) -> dict[str, Any]:
    """server.json for the tiny models."""
    argv = ["--model-path", options.target, "--host", "127.0.0.1", "--port", str(port), *FLAGS]
    argv += ["--speculative-algorithm", algorithm, "--speculative-draft-model-path", options.draft, *words]
    environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    environment |= {"PYTHONPATH": f"{SOURCE}:{options.site}", "HF_HUB_OFFLINE": "1"}
    return server_json(port, argv=argv, environment=environment, stall_after_s=120, load_budget_s=300, drain_s=20)


def check_arguments(findings: Findings, options: argparse.Namespace) -> None:
    """`sglang_ddtree.check`: SGLang's own parser, good and bad arguments, in seconds."""
    cases = (("DFLASH", (), 0, ""), ("NOPE", (), 78, "NOPE"), ("DFLASH", ("--no-such-argument", "1"), 78, "no-such-argument"))
    for algorithm, words, code, said in cases:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "server.json"
            path.write_text(json.dumps(document(options, 30000, algorithm, *words)))
            start = time.monotonic()
            done = subprocess.run(
                [sys.executable, "-m", "sglang_ddtree.check", "--args-file", str(path), "--format", "json"],
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "PYTHONPATH": f"{SOURCE}:{options.site}", "CREDENTIALS_DIRECTORY": directory},
            )
            seconds = time.monotonic() - start
        right = done.returncode == code and said in done.stdout
        findings.see(
            f"check {algorithm} {' '.join(words)}", right, f"exit {done.returncode}, {seconds:.1f} s, {done.stdout.strip()[:300]}"
        )


def serve_and_stop(findings: Findings, options: argparse.Namespace) -> None:
    """READY after a real generation, the key nowhere to be seen, 401 without it, exit 0 after SIGTERM."""
    with tempfile.TemporaryDirectory() as directory:
        launched = start(options, Path(directory), "DFLASH")
        begun = time.monotonic()
        try:
            told = wait_for(launched, "READY=1")
            if "READY=1" not in told:
                findings.see("READY=1", False, told.splitlines()[-1])
                return
            findings.see("READY=1", True, f"after {time.monotonic() - begun:.1f} s")
            findings.see("generate with the key", generate(launched.port, API_KEY) == 200, 200)
            findings.see("generate without", (status := generate(launched.port, None)) == 401, status)
            words = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
            findings.see("the key on a command line", API_KEY not in words, API_KEY in words)
            stopping = time.monotonic()
            launched.process.send_signal(signal.SIGTERM)
            code = launched.end(90)
            findings.see("stop", code == 0, f"exit {code} after {time.monotonic() - stopping:.1f} s")
            findings.see("the key in the log", API_KEY not in launched.log(), API_KEY in launched.log())
            findings.see("boot record", launched.boots()[-1]["outcome"] == "ready", launched.boots()[-1]["segments"])
        finally:
            keep(launched, options.out / "serve")


def crash(findings: Findings, options: argparse.Namespace) -> None:
    """A crash at the first decode: exit 70 within seconds of the traceback."""
    with tempfile.TemporaryDirectory() as directory:
        launched = start(options, Path(directory), options.crash_algorithm)
        try:
            told = wait_for(launched, "crashed:")
            findings.see("status", "must match the size" in told, told.splitlines()[-1])
            findings.see("exit", (code := launched.end(60)) == 70, code)
            findings.see("boot record", launched.boots()[-1]["outcome"] == "crashed", launched.boots()[-1]["segments"])
        finally:
            keep(launched, options.out / "crash")


def start(options: argparse.Namespace, directory: Path, algorithm: str) -> Launched:
    changes = document(options, PORT, algorithm)
    del changes["port"]
    return launch(directory, "", port=PORT, **changes)


def wait_for(launched: Launched, text: str) -> str:
    """What was told to systemd until that text, or until the launcher ended."""
    deadline = time.monotonic() + LOAD_TIMEOUT_S
    while launched.process.poll() is None and time.monotonic() < deadline:
        try:
            return launched.wait_for(text, 0.5)
        except AssertionError:
            continue
    return launched.manager.told()


def generate(port: int, key: str | None) -> int:
    body = json.dumps({"text": "def main(", "sampling_params": {"temperature": 0, "max_new_tokens": 8}}).encode()
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    request = urllib.request.Request(f"http://127.0.0.1:{port}/generate", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def keep(launched: Launched, out: Path) -> None:
    """What was told to systemd, and the journal, for reading afterwards."""
    launched.close()
    out.mkdir(parents=True, exist_ok=True)
    (out / "told.txt").write_text(launched.manager.told())
    (out / "journal.txt").write_text(launched.log())


if __name__ == "__main__":
    sys.exit(main())
