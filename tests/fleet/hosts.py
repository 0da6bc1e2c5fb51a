"""A release, and a host's answer to the look where all is well; tests change one thing."""

from __future__ import annotations

import json
from typing import Any

from ddtree_ops.fleet import look
from ddtree_ops.fleet.hardware import profile
from ddtree_ops.fleet.look import Look
from ddtree_ops.fleet.release import LocalWheel, ReleaseInputs, build
from ddtree_ops.fleet.spec import ServingSpec
from ddtree_ops.ports import Completed

SPEC = {"model": {"path": "/srv/m"}, "draft_model": {"path": "/srv/d"}, "runtime": {"python": "/usr/bin/python3", "free_mib": 7}}
RELEASE = build(
    ServingSpec.model_validate(SPEC), profile("b300-8x"), ReleaseInputs("lab", "x", "[Unit]", (LocalWheel("/w/p.whl", "0"),))
)
PORT = 30000
UNIT = f"ddtree-server@{PORT}.service"


def unit(name: str = UNIT, pid: int = 7, release: str | None = RELEASE.id, **properties: str) -> dict[str, Any]:
    """What the look says of a unit that serves."""
    up = {"ActiveState": "active", "SubState": "running"} if pid else {"ActiveState": "inactive", "SubState": "dead"}
    values = {"Id": name, "LoadState": "loaded", "MainPID": str(pid), "UnitFileState": "enabled", **up, **properties}
    show = "\n".join(f"{key}={value}" for key, value in values.items())
    argv = ["launcher"] if pid else None
    return {
        "show": show,
        "drop_ins": [],
        "digest": "own",
        "command": ["launcher"],
        "release": release if pid else None,
        "argv": argv,
    }


def answer(**changes: Any) -> dict[str, Any]:
    """The document where RELEASE serves, is committed, and nothing is wrong."""
    manifest = {**RELEASE.manifest_seed(), "created": "2026-11-30T00:00:00Z", "unit_sha256": "own"}
    whole = {"listed": 400, "more": 0, "changed": [], "missing": [], "added": []}
    return {
        "schema": "ddtree-ops/look/v1",
        "links": {"current": RELEASE.id, "last-good": RELEASE.id},
        "releases": {RELEASE.id: manifest},
        "leftovers": [],
        "lock": None,
        "dead_man": None,
        "settings": RELEASE.server_json(),
        "units": [unit()],
        "units_problem": None,
        "files": {RELEASE.id: whole},
        "programs": {"preflight": {"output": '{"findings": []}', "problem": None}},
        "seconds": 0.1,
    } | changes


def parsed(document: Any) -> Look:
    """What the controller makes of a host's answer."""
    return said(document if isinstance(document, str) else json.dumps(document))


def said(stdout: str, code: int = 0, stderr: str = "") -> Look:
    """What the controller makes of what the program printed."""
    return look.parse(Completed(look.command(PORT, RELEASE), code, stdout, stderr, 0.0), "b300", PORT)
