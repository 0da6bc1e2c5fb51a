"""The staged release and the model's code, looked at without running anything of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from . import fatbin
from .catalogue import finding
from .finding import WARNING, Finding, listed
from .host import Host
from .wanted import PCIE, Wanted, version_of

_DIST = re.compile(r"([A-Za-z0-9._]{1,80})-([0-9][A-Za-z0-9.!+_]{0,40})\.dist-info")
_BROKEN_NCCL = "2.26.2"
_REMOTE_CODE_SINCE = (5, 10)
# The unit's own (ProtectSystem=strict): its cache and state, and what is private or memory.
_WRITABLE = ("/tmp/", "/var/tmp/", "/dev/shm/")


def look(want: Wanted, host: Host) -> dict[str, Any]:
    """Names and versions in the staged venv, the architectures of sgl_kernel, links among a model's code, caches. JSON."""
    library = f"{want.place}/venv/lib"
    sites = [f"{library}/{name}/site-packages" for name in host.names(library) if name.startswith("python3")]
    site = sites[0] if sites else ""
    stack = f"{want.cache}/{want.lock_sha256[:12]}"
    return {
        "site": site,
        "versions": dict(_dists(host, site)),
        "kernels": _kernels(host, f"{site}/sgl_kernel") if site else {},
        "links": {path: [name for name in host.names(path) if _is_code_link(host, f"{path}/{name}")] for path in want.models},
        "caches": [name for name in host.names(stack) if host.names(f"{stack}/{name}")] if want.lock_sha256 else [],
        "stack": stack,
    }


def _dists(host: Host, site: str) -> Iterator[tuple[str, str]]:
    for name in host.names(site) if site else []:
        found = _DIST.fullmatch(name)
        if found:
            yield re.sub(r"[-_.]+", "-", found[1]).lower(), found[2]


def _kernels(host: Host, package: str) -> dict[str, list[tuple[int, bool, bool]] | None]:
    """Code of `common_ops*.so`, the library that every start needs, by path; None for one that can't be read."""
    found: dict[str, list[tuple[int, bool, bool]] | None] = {}
    places = [package, *(f"{package}/{name}" for name in host.names(package) if name.startswith("sm"))]
    for path in (f"{place}/{name}" for place in places for name in host.names(place)):
        if path.rpartition("/")[2].startswith("common_ops") and path.endswith(".so"):
            try:
                found[path] = sorted((one.arch, one.ptx, one.specific) for one in fatbin.code(host.root + path))
            except (OSError, ValueError):
                found[path] = None
    return found


def _is_code_link(host: Host, path: str) -> bool:
    return path.endswith(".py") and host.link(path) is not None


def check(want: Wanted, seen: dict[str, Any]) -> Iterator[Finding]:
    """Of what look() saw; nothing about packages while no release is staged."""
    versions = {**want.packages, **seen["versions"]}
    yield from _kernel(want, seen)
    pinned, staged = want.packages.get("sglang"), seen["versions"].get("sglang")
    if pinned and staged and staged != pinned:
        evidence = [f"{seen['site']}: sglang-{staged}.dist-info"]
        yield finding("sglang_version", f"SGLang {staged} is staged", f"{pinned}, which the lock pins", evidence=evidence)
    nccl = next((version for name, version in sorted(versions.items()) if name.startswith("nvidia-nccl-cu")), "")
    if nccl == _BROKEN_NCCL and want.gpus and want.gpus.interconnect == PCIE:
        yield finding("nccl_version", f"NCCL {nccl}", "another one", evidence=[f"{seen['site'] or 'lock'}: nvidia-nccl {nccl}"])
    transformers = version_of(versions.get("transformers", ""))
    for path, names in seen["links"].items():
        if names and transformers and transformers >= _REMOTE_CODE_SINCE and want.remote_code:
            found = f"{listed(names, 4)} of {path} are links, with transformers {versions['transformers']}"
            yield finding("remote_code_symlinks", found, "files", evidence=[f"ls -l {path}: {names[0]} is a link"])
    yield from _modules(want)
    if want.compiles and not seen["caches"]:
        found = "no kernels are compiled for this lock yet"
        yield finding(
            "jit_cache_dirs", found, f"caches below {seen['stack']}", evidence=[f"ls {seen['stack']}: empty or not there"]
        )


def _kernel(want: Wanted, seen: dict[str, Any]) -> Iterator[Finding]:
    if want.gpus is None or not seen["kernels"]:
        return
    arch = int(want.gpus.compute_cap.replace(".", ""))
    expected = f"code for sm_{arch}"
    libraries = {path: [fatbin.Code(*one) for one in codes] for path, codes in seen["kernels"].items() if codes is not None}
    broken = sorted(seen["kernels"].keys() - libraries.keys())
    if broken:
        evidence = [f"{broken[0]}: no ELF file with fat binaries"]
        yield finding("kernel_wheel", f"{broken[0]} can't be read", expected, severity=WARNING, evidence=evidence)
    carried = {code for codes in libraries.values() for code in codes}
    if carried and not any(code.runs_on(arch) for code in carried):
        names = listed(sorted({f"sm_{code.arch}" for code in carried}, key=lambda name: int(name[3:])))
        version = seen["versions"].get("sglang-kernel") or seen["versions"].get("sgl-kernel", "")
        evidence = [f"{min(libraries)}: {names}"]
        yield finding("kernel_wheel", f"sgl_kernel {version} carries code for {names}", expected, evidence=evidence)


def _modules(want: Wanted) -> Iterator[Finding]:
    """Without the variable the launcher sets one below the unit's cache (environment.py), whatever HF_HOME is."""
    place = want.environment.get("HF_MODULES_CACHE")
    if place and want.remote_code and not f"{place}/".startswith((f"{want.cache}/", *_WRITABLE)):
        found = f"{place} can't be written by the unit (ProtectSystem=strict)"
        evidence = [f"spec: environment.HF_MODULES_CACHE={place}"]
        yield finding("hf_modules_writable", found, f"a place below {want.cache}", evidence=evidence)
