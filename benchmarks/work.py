"""What a run has to bring about, written down for every tool: the inventory for ours, files and values for the peers."""

from __future__ import annotations

import configparser
import json
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.lab_fleet import PORT, PROJECT, UNIT, LabFleet
from ddtree_ops.cli.inputs import release_of
from ddtree_ops.fleet.inventory import load_fleet
from ddtree_ops.fleet.release import Release

ENVIRONMENT = {"SIM_LOAD_SECONDS": "1.5", "SIM_CRASH_SETTLE_SECONDS": "0"}
FILES = ("server.json", "requirements.txt", "ddtree-server@.service")
PIP_SETTINGS = "pip.conf"
LIBRARY = "library"  # where the venv has its packages
UV_LOCK = PROJECT / "deploy" / "locks" / "uv.txt"
# pip's names of settings and uv's, which knows no pip.conf (uv's reference, "Environment variables").
UV_NAMES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
}


@dataclass(frozen=True)
class Work:
    """One wanted state. `inventory` serves ours and Ansible; `values` is the peers' JSON file."""

    release: Release
    inventory: Path
    values: Path


def prepare(fleet: LabFleet, folder: Path, **sections: Any) -> Release:
    """Write the inventory below `folder`, `sections` laid over the lab's spec; the release that it asks for."""
    inventory = fleet.inventory(folder / "inventory", **{"environment": ENVIRONMENT, **sections})
    return release_of(load_fleet(inventory).host(fleet.hosts[0]))


def take_files(fleet: LabFleet, release: str, folder: Path) -> None:
    """The files of a release as our own deploy wrote them: the peers have to find or to write the same."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        text = fleet.lab.sh(fleet.hosts[0], "cat", f"/opt/ddtree/releases/{release}/{name}")
        (folder / name).write_text(text)
    library = "cd /opt/ddtree/current/venv && echo lib/python3*"
    (folder / PIP_SETTINGS).write_text(fleet.lab.sh(fleet.hosts[0], "sh", "-c", "cat /etc/pip.conf 2>/dev/null || true"))
    (folder / LIBRARY).write_text(fleet.lab.sh(fleet.hosts[0], "sh", "-c", library).strip())


def write(fleet: LabFleet, folder: Path, release: Release, base_files: Path) -> Work:
    """Payload and values for the peers. `base_files`: those of a release that differs in arguments at most."""
    payload = folder / "payload"
    (payload / "tools").mkdir(parents=True, exist_ok=True)
    shutil.copy(UV_LOCK, payload / "tools" / UV_LOCK.name)
    shutil.copy(base_files / "requirements.txt", payload)
    shutil.copy(base_files / "ddtree-server@.service", payload / "unit")
    server = json.dumps(release.server_json(), indent=4, sort_keys=True) + "\n"
    (payload / "server.json").write_text(server)
    created = {"created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    (payload / "manifest.json").write_text(json.dumps({**release.manifest_seed(), **created}))
    values = folder / "values.json"
    values.write_text(json.dumps(_values(fleet, payload, release, base_files)))
    return Work(release, folder / "inventory", values)


def _values(fleet: LabFleet, payload: Path, release: Release, base_files: Path) -> dict[str, Any]:
    library = (base_files / LIBRARY).read_text()
    return {
        **release.role_variables(),
        "bench_hosts": list(fleet.hosts),
        "ssh_config": str(fleet.lab.ssh_config),
        "payload": str(payload),
        "python": str(release.spec.runtime.python),
        "plugin_file": f"{library}/site-packages/sglang_ddtree/launcher.py",
        "model": release.spec.model.path,
        "unit": UNIT,
        "service_port": PORT,
        "wheels": [{"path": wheel.path, "sha256": wheel.sha256, "name": wheel.name} for wheel in release.inputs.wheels],
        "uv_environment": uv_environment((base_files / PIP_SETTINGS).read_text()),
        "bench_restart": True,
    }


def uv_environment(pip_conf: str) -> dict[str, str]:
    """What a person would set for uv on a host with this /etc/pip.conf."""
    parser = configparser.RawConfigParser()
    parser.read_string(pip_conf)
    found = dict(parser["global"]) if parser.has_section("global") else {}
    named = {name: " ".join(found[key].split()) for key, name in UV_NAMES.items() if key in found}
    return {"UV_SYSTEM_CERTS": "1", "UV_PYTHON_DOWNLOADS": "never", **named}
