"""What the server compiles kernels with at its first start: nvcc, ninja, a C++ compiler, ptxas, as the unit will find them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from .catalogue import finding
from .finding import WARNING, Finding
from .host import Host
from .running import Answer
from .wanted import Wanted, version_of

# What systemd gives a service (systemd.exec(5), $PATH); the launcher puts the release's own programs before it.
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"
_CUDA_HOME = "/usr/local/cuda"
# The first CUDA whose ptxas knows an architecture (CUDA's release notes).
_FIRST = {"10.0": (12, 8), "12.0": (12, 8), "10.3": (12, 9), "12.1": (12, 9)}
_GLIBC_RSQRT = (2, 41)  # declares rsqrt() for C23
_HEADERS_MENDED = (13, 2)


def ptxas(want: Wanted) -> str:
    """The one that Triton takes."""
    return want.environment.get("TRITON_PTXAS_PATH") or f"{_home(want)}/bin/ptxas"


def look(want: Wanted, host: Host) -> dict[str, Any]:
    """Which tools are there, what ptxas says of itself, the toolkit's version: JSON; nothing where no kernels are compiled."""
    if not want.compiles:
        return {}
    name = ptxas(want)
    asked = host.start(name, "--version", seconds=3.0).answer() if host.runs(name) else None
    return {
        "missing": [
            tool for tool, (places, _) in _tools(want).items() if not any(map(host.runs, places)) and not _brings(want, tool)
        ],
        "ptxas": [asked.status, asked.out] if asked else None,
        "toolkit": _toolkit(host, _home(want)),
    }


def check(want: Wanted, host: Host, seen: dict[str, Any]) -> Iterator[Finding]:
    """Of what look() saw."""
    if not seen:
        return
    for tool in seen["missing"]:
        found = f"no {tool} on the unit's PATH" + (f" nor in {_home(want)}/bin" if tool == "nvcc" else "")
        fix, expected = _tools(want)[tool][1], f"{tool} in {_path(want)}"
        yield finding("jit_toolchain", found, expected, fix=fix, evidence=[f"command -v {tool}: nothing"])
    yield from _ptxas(want, Answer((ptxas(want), "--version"), *seen["ptxas"]) if seen["ptxas"] else None)
    yield from _rsqrt(want, host, version_of(seen["toolkit"]))


def _home(want: Wanted) -> str:
    return want.environment.get("CUDA_HOME") or _CUDA_HOME


def _brings(want: Wanted, tool: str) -> bool:
    """Whether the release has it in its venv, which is on the unit's PATH unless the spec sets another one."""
    return tool in want.packages and "PATH" not in want.environment


def _path(want: Wanted) -> str:
    return want.environment.get("PATH") or SYSTEM_PATH


def _tools(want: Wanted) -> dict[str, tuple[list[str], str]]:
    """Where each may be, and how to get it."""
    folders = [folder for folder in _path(want).split(":") if folder.startswith("/")]
    on_path = {tool: [f"{folder}/{tool}" for folder in folders] for tool in ("nvcc", "ninja", "g++", "c++")}
    toolkit = "install the CUDA toolkit of the lock's version, or set CUDA_HOME"
    return {
        "nvcc": ([*on_path["nvcc"], f"{_home(want)}/bin/nvcc"], toolkit),
        "ninja": (on_path["ninja"], "install ninja-build, or take a lock that has ninja in it"),
        "g++": (on_path["g++"] + on_path["c++"], "install g++ (Debian: build-essential)"),
    }


def _ptxas(want: Wanted, asked: Answer | None) -> Iterator[Finding]:
    name, capability = ptxas(want), want.gpus.compute_cap if want.gpus else ""
    first = _FIRST.get(capability, (0, 0))
    if asked is None:
        # Triton brings one of its own, but only TRITON_PTXAS_PATH's is taken where that is set.
        if "TRITON_PTXAS_PATH" in want.environment:
            yield finding("ptxas_arch", f"{name} isn't there", "a program", evidence=[f"ls {name}: nothing"])
        return
    found = re.search(r"release ([0-9]{1,3}\.[0-9]{1,3})", asked.out)
    version = version_of(found[1]) if found else None
    if version is None:
        text = f"{name} doesn't say its version"
        yield finding("ptxas_arch", text, "a release of CUDA", severity=WARNING, evidence=[asked.said(asked.out[-200:])])
        return
    evidence = [asked.said(found[0] if found else "")]
    shown = f"ptxas is of CUDA {version[0]}.{version[1]}"
    if version < first:
        yield finding(
            "ptxas_arch", shown, f"{first[0]}.{first[1]} or newer, for compute capability {capability}", evidence=evidence
        )
    elif want.cuda and version[0] < want.cuda[0]:
        expected = f"CUDA {want.cuda[0]}, as the lock's libraries"
        yield finding("ptxas_arch", shown, expected, severity=WARNING, evidence=evidence)


def _rsqrt(want: Wanted, host: Host, toolkit: tuple[int, int] | None) -> Iterator[Finding]:
    library = version_of(host.glibc())
    if library and toolkit and library >= _GLIBC_RSQRT and toolkit < _HEADERS_MENDED:
        found = f"glibc {library[0]}.{library[1]} with the headers of CUDA {toolkit[0]}.{toolkit[1]}"
        evidence = [
            f"confstr CS_GNU_LIBC_VERSION: {library[0]}.{library[1]}",
            f"{_home(want)}/version.json: {toolkit[0]}.{toolkit[1]}",
        ]
        yield finding("glibc_rsqrt", found, "an older glibc or newer headers", evidence=evidence)


def _toolkit(host: Host, home: str) -> str:
    """From version.json, which the toolkit brings."""
    try:
        return str(json.loads(host.read(f"{home}/version.json"))["cuda"]["version"])
    except (ValueError, KeyError, TypeError):
        return ""
