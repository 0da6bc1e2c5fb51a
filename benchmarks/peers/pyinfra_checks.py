"""20 checks of a host on which nothing changed, for pyinfra."""

import json
import os
from pathlib import Path
from typing import Any

from pyinfra.operations import files, server, systemd

V: dict[str, Any] = json.loads(Path(os.environ["BENCH_VARS"]).read_text())
ROOT, PAYLOAD, WHEELS = "/opt/ddtree", V["payload"], V["wheels"]
RELEASE = f"{ROOT}/releases/{V['release_id']}"
OURS: dict[str, Any] = {"user": "root", "group": "root", "mode": "755"}

server.user(user="ddtree", system=True, shell="/usr/sbin/nologin", ensure_home=False)  # noqa: S604 - the shell of a user, none that runs
files.directory(path=ROOT, **OURS)
files.directory(path=f"{ROOT}/releases", **OURS)
files.directory(path="/var/lib/ddtree", **OURS)
files.directory(path=f"{ROOT}/wheelhouse", user="root", group="root")
files.directory(path=f"{ROOT}/uv-cache", user="root", group="root")
files.directory(path=RELEASE, **OURS)
files.put(src=WHEELS[0]["path"], dest=f"{ROOT}/wheelhouse/{WHEELS[0]['sha256']}/{WHEELS[0]['name']}")
files.put(src=WHEELS[1]["path"], dest=f"{ROOT}/wheelhouse/{WHEELS[1]['sha256']}/{WHEELS[1]['name']}")
files.put(src=f"{PAYLOAD}/server.json", dest=f"{RELEASE}/server.json", mode="644")
files.put(src=f"{PAYLOAD}/requirements.txt", dest=f"{RELEASE}/requirements.txt", mode="644")
files.put(src=f"{PAYLOAD}/unit", dest=f"{RELEASE}/ddtree-server@.service", mode="644")
files.put(src=f"{PAYLOAD}/unit", dest=f"/etc/systemd/system/{V['unit']}", mode="644")
files.file(path=f"{RELEASE}/manifest.json")
files.file(path=f"{RELEASE}/venv/bin/activate")
files.file(path=f"{RELEASE}/venv/{V['plugin_file']}")
files.file(path=f"{V['model']}/config.json")
files.link(path=f"{ROOT}/current", target=f"releases/{V['release_id']}")
files.link(path=f"{ROOT}/last-good", target=f"releases/{V['release_id']}")
systemd.service(service=V["unit"], running=True, enabled=True)
