"""Fixes name arguments that the server which runs has."""

from __future__ import annotations

import re
from pathlib import Path

from ddtree_ops.triage.signatures import runtimes
from tests.triage.test_cases import CASES, data

_SOURCES = Path(runtimes.__file__).parent
_ARGUMENT = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
#: SGLang's and vLLM's alike (argument parsers of 0.5.13 and 0.11).
_BOTH = frozenset(
    {
        "--attention-backend",
        "--chat-template",
        "--disable-custom-all-reduce",
        "--kv-cache-dtype",
        "--port",
        "--quantization",
        "--revision",
        "--trust-remote-code",
    }
)
#: Of other programs, or no advice.
_OTHERS = frozenset(
    {
        "--enable-log-outputs",
        "--enable-nan-detection",
        "--format",
        "--gpu-architecture",
        "--gpu-name",
        "--ipc",
        "--local-dir",
        "--log-requests",
        "--max-depth",
    }
    | {"--pid", "--query-compute-apps", "--shm-size", "--sort", "--tee", "--version"}
)
_OF_THE_HOST = ("ansible", "container", "fabric", "gpu", "kernel", "not_writable", "remote", "ssh", "sudo", "systemd")


def test_every_argument_that_a_fix_names_has_a_place_here() -> None:
    files = [file for file in _SOURCES.glob("*.py") if not file.name.startswith(_OF_THE_HOST)]
    named = {name for file in files for name in _ARGUMENT.findall(file.read_text("utf-8"))}
    vllms = {name for name in runtimes.VLLM.values() if name}
    assert named - set(runtimes.VLLM) - vllms - _BOTH - _OTHERS == set()


def test_no_fix_for_vllm_names_an_argument_of_sglangs() -> None:
    for name in CASES:
        for failure in data(name)["failures"]:
            files = [frame["file"] for item in failure["exceptions"] for frame in item["frames"]]
            if any("/vllm/" in file for file in files) and not any("/sglang/" in file for file in files):
                said = set(_ARGUMENT.findall(" ".join(failure["fixes"])))
                assert not said & set(runtimes.VLLM), (name, said)
