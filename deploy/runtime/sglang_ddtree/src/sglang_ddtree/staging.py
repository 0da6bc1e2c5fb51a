"""The last steps of staging, in one process: check, patch, compile, list. The role runtime runs it before its rename.

    python -m sglang_ddtree.staging --release DIR --final DIR --seed FILE

One JSON document on stdout, exit code 0:
    {"patched": n, "linked": n, "compiled": n}      done: DIR holds manifest.json and files.json
    {"damaged": [package, ...]}                     files differ from their RECORD: nothing was written
    {"message": "...", "conflicts": [line, ...]}    a patch doesn't fit: nothing was written
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import bytecode, manifest, release_files
from .patching import series
from .records import distribution_of, read_record, record_files, site_packages


def main(argv: Sequence[str] | None = None) -> int:
    """Finish one staged release. Returns 0, or 2 with the reason on stderr."""
    parser = argparse.ArgumentParser(prog="sglang_ddtree.staging")
    parser.add_argument("--release", required=True, type=Path, help="the staging directory")
    parser.add_argument("--final", required=True, type=Path, help="what it will be called")
    parser.add_argument("--seed", required=True, type=Path, help="what the controller knows for manifest.json")
    options = parser.parse_args(argv)
    try:
        seed = json.loads(options.seed.read_text(encoding="utf-8"))
        answer = finish(options.release, options.final, seed)
    except (OSError, ValueError) as error:
        print(f"{error}", file=sys.stderr)
        return 2
    print(json.dumps(answer))
    return 0


def finish(release: Path, final: Path, seed: Mapping[str, Any]) -> dict[str, Any]:
    """The steps in order; the answer as the module's docstring shows it. Raises OSError, ValueError."""
    known = release_files.known_files(final.parent, but=final.name)
    files = release_files.listing(release).files
    hashes = release_files.digests(release, files, known)
    site = site_packages(release / "venv")
    damaged = damaged_packages(release, site, hashes)
    if damaged:
        return {"damaged": damaged}
    try:
        touched = series.apply(site, release / series.FOLDER, seed.get("patches", ()))
    except series.Conflicts as error:
        return {"message": str(error), "conflicts": list(error.lines)}
    now = release_files.listing(release)
    modules = {path: which for path, which in now.files.items() if _is_module(path, release, site)}
    linked, compiled = bytecode.provide(release, final, modules, known)
    manifest.write(release, {**seed, "patched_files": touched, "files_listed": True})
    release_files.write(release, {which: release_files.Known(release / path, hashes[path]) for path, which in files.items()})
    return {"patched": len(touched), "linked": linked, "compiled": compiled}


def damaged_packages(release: Path, site: Path, hashes: Mapping[str, str]) -> list[str]:
    """Distributions with a file that isn't what their RECORD says, by name."""
    found = set()
    for record in record_files(site).values():
        for entry in read_record(record):
            if entry.digest and _as_record(hashes.get(_inside(entry.path, release))) != entry.digest:
                found.add(distribution_of(record))
    return sorted(found)


def _inside(path: Path, release: Path) -> str:
    """`<site>/../../../bin/x` into `venv/bin/x`, without asking the file system."""
    parts: list[str] = []
    for part in path.relative_to(release).parts:
        if part == "..":
            parts = parts[:-1]
        else:
            parts.append(part)
    return "/".join(parts)


def _as_record(digest: str | None) -> str:
    """A sha256 as a RECORD spells it."""
    raw = bytes.fromhex(digest or "")
    return "sha256=" + base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def _is_module(path: str, release: Path, site: Path) -> bool:
    return path.endswith(".py") and path.startswith(f"{site.relative_to(release)}/")


if __name__ == "__main__":
    sys.exit(main())
