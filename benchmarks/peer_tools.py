"""The peers' virtual environment, made once in a cache and never in the project's own."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.results import tell

HERE = Path(__file__).resolve().parent
LOCK = HERE / "peers.txt"


def environment() -> Path:
    """The environment for the present lock and Python; built at first use, which takes half a minute."""
    digest = hashlib.sha256(LOCK.read_bytes() + sys.version.encode()).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ddtree-ops-benchmarks"
    done = cache / digest
    if done.exists():
        return done
    tell(f"building the peers' environment from {LOCK.name}")
    shutil.rmtree(cache, ignore_errors=True)  # other locks' environments, and what an interrupted build left
    building = cache / f"{digest}.building"
    subprocess.run((sys.executable, "-m", "venv", str(building)), check=True)
    pip = (str(building / "bin" / "python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--require-hashes")
    subprocess.run((*pip, "-r", str(LOCK)), check=True)
    done.symlink_to(building)  # scripts name the path that they were installed under
    return done


def versions(venv: Path) -> dict[str, str]:
    """What is compared with, as installed."""
    found = {}
    for path in venv.glob("lib/python3*/site-packages/*.dist-info"):
        name, _, version = path.name.removesuffix(".dist-info").rpartition("-")
        found[name.replace("_", "-")] = version
    return {name: found[name] for name in ("ansible-core", "jedi", "mitogen", "pyinfra")}


def mitogen_strategies(venv: Path) -> Path:
    """Where Ansible finds mitogen's strategy."""
    return next(venv.glob("lib/python3*/site-packages/ansible_mitogen/plugins/strategy"))
