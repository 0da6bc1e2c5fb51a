"""Hosts of data for the preflight program: files in a folder, answers of programs, GPUs from the lab's own stand-in."""

from __future__ import annotations

import io
import json
import struct
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import yaml

from ddtree_ops.fleet import preflight
from ddtree_ops.fleet.hardware import profile
from ddtree_ops.fleet.release import LocalWheel, ReleaseInputs, build
from ddtree_ops.fleet.spec import ServingSpec
from ddtree_preflight import wanted
from ddtree_preflight.finding import Finding
from ddtree_preflight.host import Host, Space
from ddtree_preflight.main import Look
from ddtree_preflight.running import Answer

PROJECT = Path(__file__).resolve().parents[2]
CASES = Path(__file__).with_name("preflight_cases")
PROFILES = {"rtx": "rtx-pro-6000-8x", "b300": "b300-8x"}
NOW = 1_764_480_000.0
SPEC = {"model": {"path": "/srv/models/target", "bytes": 590_000_000_000}, "draft_model": {"path": "/srv/models/draft"}}


@cache
def sound() -> dict[str, Any]:
    """The host where all is well."""
    found: dict[str, Any] = yaml.safe_load((CASES / "sound.yml").read_text())
    return found


@cache
def arguments(hardware: str) -> str:
    """What the controller asks for, with the real lock of SGLang."""
    lock = (PROJECT / "deploy/locks/sglang-0.5.13.post1-cu130.txt").read_text()
    inputs = ReleaseInputs("sglang", lock, "[Unit]", (LocalWheel("/w/p.whl", "0"),))
    release = build(ServingSpec.model_validate(SPEC), profile(PROFILES[hardware]), inputs)
    return preflight.host_arguments(release, NOW)[0]


@cache
def stand_in() -> Any:
    """lab/nvidia-smi as a module."""
    sys.path.insert(0, str(PROJECT / "lab"))
    loader = SourceFileLoader("lab_nvidia_smi", str(PROJECT / "lab" / "nvidia-smi"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def smi(hardware: str, state: Mapping[str, Any], folder: Path, argv: tuple[str, ...]) -> Answer:
    """What the lab's nvidia-smi says for this state."""
    program = stand_in()
    states = sys.modules["gpu_state"]
    files = {"PROFILE": PROJECT / "lab/profiles" / f"{PROFILES[hardware]}.json", "STATE": folder / "gpu-state.json"}
    for name, path in {**files, "USED": folder / "none", "MACHINE_ID": files["PROFILE"]}.items():
        setattr(states, name, path)
    files["STATE"].write_text(json.dumps(state))
    before, sys.argv = sys.argv, list(argv)
    try:
        with redirect_stdout(io.StringIO()) as out:
            status = program.main()
    finally:
        sys.argv = before
    return Answer(argv, status, out.getvalue())


@dataclass(frozen=True)
class Ready:
    """An answer that is there at once."""

    give: Callable[[], Any]

    def answer(self) -> Any:
        return self.give()


class CaseHost(Host):
    """A folder as a host, and answers from the case."""

    def __init__(self, root: Path, hardware: str, case: Mapping[str, Any]) -> None:
        super().__init__(str(root))
        self.case, self.hardware, self.folder = case, hardware, root.parent
        for path, content in {**sound()["files"], **case.get("files", {})}.items():
            if content is not None:
                named = path.replace("LOCK", lock_name(hardware)).replace("RELEASE", json.loads(arguments(hardware))["release"])
                place(root / named.lstrip("/"), content)

    def start(self, *argv: str, seconds: float = 0.0) -> Ready:
        del seconds
        known = {**sound()["commands"], **self.case.get("commands", {})}
        said = next((known[words] for words in reversed(known) if words in " ".join(argv)), None)
        if said is not None:
            return Ready(lambda: Answer(argv, said.get("status", 0), said["out"]))
        assert argv[0] == "nvidia-smi", argv
        return Ready(lambda: smi(self.hardware, self.case.get("state", {}), self.folder, argv))

    def aside(self, work: Callable[[], Any]) -> Ready:
        return Ready(lambda: {"value": json.loads(json.dumps(work()))})

    def space(self, path: str) -> Space | None:
        found = {**sound()["space"], **self.case.get("space", {})}.get(path)
        return Space(**found) if found else None

    def now(self) -> float:
        return NOW + float(self.case.get("ahead", 0))

    def glibc(self) -> str:
        return str(self.case.get("glibc", sound()["glibc"]))

    def clock_is_kept(self) -> bool | None:
        return bool(self.case.get("clock", True))


def lock_name(hardware: str) -> str:
    return str(json.loads(arguments(hardware))["lock_sha256"][:12])


def place(path: Path, content: Any) -> None:
    """A file, or `{link: target}`, `{hex: bytes}`, `{acs: control register}`, `{fatbin: [[arch, specific], ...]}`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, dict) and "link" in content:
        path.symlink_to(content["link"])
    elif isinstance(content, dict):
        path.write_bytes(made(content))
    else:
        path.write_text(content)
        path.chmod(0o755 if path.parent.name == "bin" else 0o644)


def made(content: Mapping[str, Any]) -> bytes:
    if "acs" in content:  # two extended capabilities: something at 0x100, ACS at 0x148
        space = bytearray(4096)
        struct.pack_into("<I", space, 0x100, 0x148 << 20 | 1 << 16 | 0x0001)
        struct.pack_into("<IHH", space, 0x148, 1 << 16 | 0x000D, 0x5F, content["acs"])
        return bytes(space)
    if "ring" in content:
        return bytes(0x100) + struct.pack("<I", 0x100 << 20 | 1 << 16 | 0x0001) + bytes(0xE00)
    if "fatbin" in content:
        return library(content["fatbin"])
    return bytes.fromhex(content["hex"])


def library(codes: list[tuple[int, bool]]) -> bytes:
    """An ELF file whose section .nv_fatbin has machine code for these architectures."""
    entries = b""
    for arch, specific in codes:
        flags = 0x100011 if specific else 0x11
        entries += struct.pack("<HHIQIIHHIIIQQQ", 2, 0x101, 64, 16, 0, 0, 7, 1, arch, 0, 0, flags, 0, 0) + bytes(16)
    fat = bytes(8) + struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries
    names = b"\0.nv_fatbin\0.shstrtab\0"
    table = 64 + len(fat) + len(names)
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, table, 0, 64, 0, 0, 64, 3, 2)
    sections = [(0, 0, 0, 0, 0, 0), (1, 1, 2, 0, 64, len(fat)), (12, 3, 0, 0, 64 + len(fat), len(names))]
    return head + fat + names + b"".join(struct.pack("<IIQQQQ", *one).ljust(64, b"\0") for one in sections)


def look(folder: Path, case: Mapping[str, Any]) -> list[Finding]:
    """All findings for a case."""
    hardware = case.get("profile", "rtx")
    root = folder / "root"
    root.mkdir()
    want = json.loads(arguments(hardware))
    for name, value in case.get("want", {}).items():
        merged = {**want[name], **value} if isinstance(value, dict) else value
        want[name] = {key: one for key, one in merged.items() if one is not None} if isinstance(merged, dict) else merged
    return Look(wanted.read(json.dumps(want)), CaseHost(root, hardware, case)).run()


def cases() -> list[dict[str, Any]]:
    """Every case, with the name of its file before its own."""
    found = []
    for path in sorted(CASES.glob("*.yml")):
        if path.name != "sound.yml":
            found += [{**case, "name": f"{path.stem}: {case['name']}"} for case in yaml.safe_load(path.read_text())]
    return found
