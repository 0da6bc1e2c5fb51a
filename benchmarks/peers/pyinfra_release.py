"""A new release beside the old one, in 20 operations, up to the restart of the unit, for pyinfra."""

import json
import os
from pathlib import Path
from typing import Any

from pyinfra.operations import files, server, systemd

V: dict[str, Any] = json.loads(Path(os.environ["BENCH_VARS"]).read_text())
ROOT, PAYLOAD, PYTHON, WHEELS = "/opt/ddtree", V["payload"], V["python"], V["wheels"]
TOOLS = f"{ROOT}/tools/bench"
STAGING, RELEASE = f"{ROOT}/releases/.bench-{V['release_id']}", f"{ROOT}/releases/{V['release_id']}"
UV = f"{TOOLS}/venv/bin/uv"
SYNC = f"pip sync --quiet --require-hashes --no-build --link-mode hardlink --compile-bytecode --cache-dir {ROOT}/uv-cache"
PIP = f"{TOOLS}/venv/bin/pip install --quiet --require-hashes --only-binary :all: -r {TOOLS}/uv.txt"


def unless(path: str, command: str) -> None:
    """Run a command on the host unless it has been there before."""
    server.shell(commands=[f"test -e {path} || {command}"], _env=V["uv_environment"])


server.user(user="ddtree", system=True, shell="/usr/sbin/nologin", home="/var/cache/ddtree", ensure_home=False)  # noqa: S604 - the shell of a user, none that runs
files.directory(path=f"{ROOT}/releases", user="root", group="root", mode="755")
files.sync(src=f"{PAYLOAD}/tools", dest=TOOLS, mode="644")
unless(f"{TOOLS}/venv/bin/pip", f"{PYTHON} -m venv {TOOLS}/venv")
unless(f"{TOOLS}/venv/bin/uv", PIP)
files.put(src=WHEELS[0]["path"], dest=f"{ROOT}/wheelhouse/{WHEELS[0]['sha256']}/{WHEELS[0]['name']}", mode="644")
files.put(src=WHEELS[1]["path"], dest=f"{ROOT}/wheelhouse/{WHEELS[1]['sha256']}/{WHEELS[1]['name']}", mode="644")
files.directory(path=STAGING, present=False)
files.directory(path=STAGING, user="root", group="root", mode="755")
unless(RELEASE, f"{UV} venv --quiet --relocatable --no-project --python {PYTHON} {STAGING}/venv")
files.put(src=f"{PAYLOAD}/requirements.txt", dest=f"{STAGING}/requirements.txt", mode="644")
files.put(src=f"{PAYLOAD}/server.json", dest=f"{STAGING}/server.json", mode="644")
files.put(src=f"{PAYLOAD}/unit", dest=f"{STAGING}/ddtree-server@.service", mode="644")
files.put(src=f"{PAYLOAD}/manifest.json", dest=f"{STAGING}/manifest.json", mode="644")
unless(RELEASE, f"{UV} {SYNC} --python {STAGING}/venv/bin/python {STAGING}/requirements.txt")
server.shell(
    commands=[f"runuser -u ddtree -- {STAGING}/venv/bin/python -m sglang_ddtree.check --args-file {STAGING}/server.json"]
)
unless(RELEASE, f"mv --no-target-directory {STAGING} {RELEASE}")
files.put(src=f"{PAYLOAD}/unit", dest=f"/etc/systemd/system/{V['unit']}", mode="644")
files.link(path=f"{ROOT}/current", target=f"releases/{V['release_id']}")
systemd.service(service=V["unit"], running=None, enabled=True, command="restart --no-block", daemon_reload=True)
