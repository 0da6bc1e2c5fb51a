"""Building one release: everything in its staging directory, and one rename at the end."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible.module_utils.ddtree_staging import account, cache, drift, swap, wheels
from ansible.module_utils.ddtree_staging.order import Order
from ansible.module_utils.ddtree_staging.problem import Problem, disk_full, free_mib, is_almost_full, is_full
from ansible.module_utils.ddtree_staging.programs import Failed, run
from ansible.module_utils.ddtree_staging.uv import Uv

CREDENTIALS = ("credentials", "credentials.next")
# Our own package alone, with the standard library: no `.pth` file and no code of another package runs while staging.
_RUN = "runpy.run_module('sglang_ddtree.staging', run_name='__main__', alter_sys=True)"
_OWN_CODE = f"import runpy, sys; sys.path.append(sys.argv.pop(1)); {_RUN}"


@dataclass(frozen=True)
class Built:
    """A staged release. `replaced`: where the damaged one is now; `patched`: number of files that patches touched."""

    replaced: Path | None
    patched: int


def prepare_host(order: Order) -> bool:
    """The service user and the directories. True if something was changed. Raises Problem, OSError."""
    changed = account.ensure(order.user, order.home)
    for path, mode in ((order.root, 0o755), (order.releases, 0o755), (order.cache, 0o700), (order.wheelhouse, 0o700)):
        if not path.is_dir():
            path.mkdir(mode=mode, parents=True)
            changed = True
        seen = path.stat()
        if seen.st_uid != drift.OWNER:
            os.chown(path, drift.OWNER, -1)
            changed = True
        if seen.st_mode & 0o7777 != mode:
            path.chmod(mode)
            changed = True
    return changed


def build(order: Order, lock: int) -> Built:
    """Stage the release. Whatever goes wrong, its staging directory is gone afterwards. Raises Problem, OSError."""
    before = free_mib(order.root)
    try:
        return _build(order, lock)
    except (Problem, OSError) as error:
        full = is_full(error) or (isinstance(error, Failed) and is_almost_full(order.root))
        with suppress(OSError):
            shutil.rmtree(order.staging)
        wheels.clean(order)
        if full:
            raise disk_full(order.root, before) from error
        raise


def _build(order: Order, lock: int) -> Built:
    os.umask(0o022)  # the service user has to read what root installs
    cache.make_ready(order.cache)
    uv = Uv(order, lock)
    uv.prepare()
    order.staging.mkdir(mode=0o755)
    _write_files(order)
    finished = _install(order, uv, lock)
    if finished.get("damaged"):
        # A file in the cache isn't what its wheel had: edited through a hard link, or lost its content in a power cut.
        uv.forget(finished["damaged"])
        finished = _install(order, uv, lock)
    if finished.get("damaged"):
        raise Problem(f"packages differ from their own RECORD after a fresh install: {', '.join(finished['damaged'])}")
    _keep_credentials(order)
    replaced = swap.publish(order.staging, order.release, order.fence)
    return Built(replaced, finished["patched"])


def _install(order: Order, uv: Uv, lock: int) -> dict[str, Any]:
    venv = order.staging / "venv"
    uv.make_venv(venv)
    uv.sync(venv, order.staging / "requirements.txt")
    (venv / ".lock").unlink(missing_ok=True)  # uv's, open to all for writing
    return finish(order, lock)


def finish(order: Order, lock: int) -> dict[str, Any]:
    """Let the staged package patch, compile and write the manifest: `{"patched": n}` or `{"damaged": [packages]}`."""
    site = next((order.staging / "venv" / "lib").glob("python3*/site-packages"))
    argv = (order.staging / "venv" / "bin" / "python", "-I", "-S", "-c", _OWN_CODE, site)
    answer = run(
        (*map(str, argv), "--release", str(order.staging), "--final", str(order.release), "--seed", "/dev/stdin"),
        "the staged release can't be finished",
        lock,
        stdin=json.dumps(order.seed),
    )
    found: dict[str, Any] = json.loads(answer)
    if "conflicts" in found:
        raise Problem(found["message"], tuple(found["conflicts"]))
    return found


def _write_files(order: Order) -> None:
    texts = {"requirements.txt": order.requirements, "server.json": order.server, "ddtree-server@.service": order.unit}
    for name, text in texts.items():
        (order.staging / name).write_text(text, encoding="utf-8")
    if order.patches:
        (order.staging / "patches").mkdir()
    for number, patch in enumerate(order.patches, 1):
        (order.staging / "patches" / f"{number:02}-{patch.name}").write_bytes(patch.content)


def _keep_credentials(order: Order) -> None:
    """A damaged release that is replaced may be current: what its unit loads has to be there at any moment."""
    for name in CREDENTIALS:
        if (order.release / name).is_dir():
            shutil.copytree(order.release / name, order.staging / name)
