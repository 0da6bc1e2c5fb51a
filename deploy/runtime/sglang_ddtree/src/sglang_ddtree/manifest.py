"""A release's manifest (schema `ddtree-ops/release/v1`): written when it is staged, verified whenever asked.

    python -m sglang_ddtree.manifest write --release DIR --seed FILE     completes the seed with what is installed
    python -m sglang_ddtree.manifest verify --release DIR                prints what differs; exit 0 same, 1 drift

The manifest keeps the hash of each RECORD, and each RECORD the hashes of its files, so a few lines cover the venv. Files that
patches touched stand in `patched_files`: {path in site-packages: {"before": sha256 or null, "after": sha256 or null}}.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .boots import write_durably
from .records import changed_files, packages, record_files, sha256, site_packages, unowned_files

SCHEMA = "ddtree-ops/release/v1"
FILE_NAME = "manifest.json"
_UNIT = "ddtree-server@.service"
_SERVER = "server.json"


def main(argv: Sequence[str] | None = None) -> int:
    """Write or verify. Returns 0, 1 for drift, 2 if the release can't be read."""
    parser = argparse.ArgumentParser(prog="sglang_ddtree.manifest")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("write", "verify"):
        command = commands.add_parser(name)
        command.add_argument("--release", required=True, type=Path)
        if name == "write":
            command.add_argument("--seed", required=True, type=Path)
    options = parser.parse_args(argv)
    try:
        if options.command == "write":
            write(options.release, json.loads(options.seed.read_text(encoding="utf-8")))
            return 0
        report = verify(options.release)
    except (OSError, ValueError) as error:
        print(f"sglang_ddtree.manifest: {error}", file=sys.stderr)
        return 2
    print(json.dumps(report))
    return 0 if report["ok"] else 1


def write(release: Path, seed: Mapping[str, Any]) -> None:
    """Write DIR/manifest.json: the seed, and above it what this release really holds. Raises OSError."""
    manifest = dict(seed) | measured(release)
    manifest.setdefault("created", datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"))
    manifest["schema"] = SCHEMA
    write_durably(release / FILE_NAME, json.dumps(manifest, indent=2, sort_keys=True) + "\n")


def measured(release: Path) -> dict[str, Any]:
    """What can be read from the release itself: packages, the hash of each RECORD, unit and server.json."""
    site = site_packages(release / "venv")
    found: dict[str, Any] = {
        "python": _python_version(release / "venv"),
        "packages": packages(site),
        "records": {name: sha256(path) for name, path in record_files(site).items()},
        "unowned": unowned_files(site),
    }
    for key, name in (("unit_sha256", _UNIT), ("server_sha256", _SERVER)):
        if (release / name).is_file():
            found[key] = sha256(release / name)
    return found


def verify(release: Path) -> dict[str, Any]:
    """Compare release and manifest. Raises OSError or ValueError if one can't be read.

    `{"ok", "release", "records": {"changed", "missing", "added"}, "files": {"changed", "missing"},
    "unowned": {"changed", "missing", "added"}, "release_files": ["unit_sha256" | "server_sha256"]}`
    """
    manifest = json.loads((release / FILE_NAME).read_text(encoding="utf-8"))
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        raise ValueError(f"{release / FILE_NAME}: expected the schema {SCHEMA}")
    now = measured(release)
    site = site_packages(release / "venv")
    changed, missing = changed_files(site)
    patched = _patch_drift(site, manifest.get("patched_files", {}))
    changed, missing = ([name for name in names if name not in patched] for names in (changed, missing))
    changed += sorted(name for name, drift in patched.items() if drift == "changed")
    missing += sorted(name for name, drift in patched.items() if drift == "missing")
    report: dict[str, Any] = {
        "release": manifest.get("id"),
        "records": _difference(manifest.get("records", {}), now["records"]),
        "files": {"changed": changed, "missing": missing},
        "unowned": _difference(manifest.get("unowned", {}), now["unowned"]),
        "release_files": [key for key in ("unit_sha256", "server_sha256") if manifest.get(key) != now.get(key)],
    }
    groups = (report["records"], report["files"], report["unowned"])
    drift = report["release_files"] or any(names for group in groups for names in group.values())
    return {"ok": not drift} | report


def _patch_drift(site: Path, patched: Mapping[str, Mapping[str, str | None]]) -> dict[str, str | None]:
    """Files that patches touched: "changed" or "missing" against what the patch left; None = as it left them."""
    found: dict[str, str | None] = {}
    for name, digests in patched.items():
        path, after = site / name, digests.get("after")
        there = path.is_file()
        if there and (after is None or sha256(path) != after):
            found[name] = "changed"
        else:
            found[name] = "missing" if after is not None and not there else None
    return found


def _difference(expected: Mapping[str, str], found: Mapping[str, str]) -> dict[str, list[str]]:
    return {
        "changed": sorted(name for name in expected.keys() & found.keys() if expected[name] != found[name]),
        "missing": sorted(expected.keys() - found.keys()),
        "added": sorted(found.keys() - expected.keys()),
    }


def _python_version(venv: Path) -> str:
    """From pyvenv.cfg: `version` (venv) or `version_info` (uv)."""
    for line in (venv / "pyvenv.cfg").read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition("=")
        if key.strip() in ("version", "version_info"):
            return ".".join(value.strip().split(".")[:3])
    return ".".join(map(str, sys.version_info[:3]))


if __name__ == "__main__":
    sys.exit(main())
