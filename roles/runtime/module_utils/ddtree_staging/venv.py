"""A virtual environment beside the releases, for a program of ours: `<folder>/<name>`, and `<folder>/venv` that leads to it.

What serves goes through `build`; this is for what only looks. A name stands for one content, so that what is there is left alone.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from ansible.module_utils.ddtree_staging import cache, swap, wheels
from ansible.module_utils.ddtree_staging.order import Installation
from ansible.module_utils.ddtree_staging.problem import Problem
from ansible.module_utils.ddtree_staging.programs import run
from ansible.module_utils.ddtree_staging.uv import Uv

LINK = "venv"
_NEW_LINK = ".venv.new"
_VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"


@dataclass(frozen=True)
class Venv:
    """Where one is, or will be. `oldest`: the oldest Python (major, minor) that its packages run with."""

    folder: Path
    name: str
    oldest: tuple[int, int]

    @property
    def path(self) -> Path:
        return self.folder / self.name

    @property
    def staging(self) -> Path:
        return self.folder / f"{swap.STAGING}{self.name}"

    @property
    def linked(self) -> str:
        """The name that `venv` leads to; empty if there is no such link."""
        try:
            return str((self.folder / LINK).readlink())
        except OSError:
            return ""


def is_whole(venv: Venv) -> bool:
    """Whether it is there. It appears by a rename, so that it is whole then."""
    return (venv.path / "bin" / "python").exists()


def prepare(order: Installation, folder: Path) -> bool:
    """The directories, root's. True if one was made. Raises OSError."""
    made = False
    for path, mode in ((order.root, 0o755), (folder, 0o755), (order.cache, 0o700), (order.wheelhouse, 0o700)):
        if not path.is_dir():
            path.mkdir(mode=mode, parents=True)
            path.chmod(mode)
            made = True
    return made


def build(order: Installation, venv: Venv, lock: int) -> None:
    """Make it. Whatever goes wrong, its staging directory is gone afterwards. Raises Problem, OSError."""
    os.umask(0o022)
    _check_python(order, venv, lock)
    cache.make_ready(order.cache)
    uv = Uv(order, lock)
    uv.prepare()
    shutil.rmtree(venv.staging, ignore_errors=True)
    try:
        uv.make_venv(venv.staging)
        (venv.staging / "requirements.txt").write_text(order.requirements, encoding="utf-8")
        uv.sync(venv.staging, venv.staging / "requirements.txt")
        (venv.staging / ".lock").unlink(missing_ok=True)  # uv's, open to all for writing
        _compile(venv, lock)
        swap.flush_file_system(venv.staging)
        shutil.rmtree(venv.path, ignore_errors=True)  # one that lost its interpreter
        venv.staging.rename(venv.path)
        swap.flush_directory(venv.folder)
    finally:
        shutil.rmtree(venv.staging, ignore_errors=True)
        wheels.clean(order)


def link(venv: Venv) -> bool:
    """Let `venv` lead to it, by a rename. True if it led elsewhere. Raises OSError."""
    if venv.linked == venv.name:
        return False
    new = venv.folder / _NEW_LINK
    new.unlink(missing_ok=True)
    new.symlink_to(venv.name)
    new.replace(venv.folder / LINK)
    swap.flush_directory(venv.folder)
    return True


def prune(venv: Venv, former: str) -> None:
    """Remove all but the linked one and the one before it, whose process may still run."""
    for path in venv.folder.iterdir():
        if path.is_dir() and not path.is_symlink() and path.name not in (venv.name, former):
            shutil.rmtree(path, ignore_errors=True)


def _check_python(order: Installation, venv: Venv, lock: int) -> None:
    said = run((order.python, "-I", "-S", "-c", _VERSION), "the Python of the environment can't be asked for its version", lock)
    major, minor = (int(part) for part in said.strip().split("."))
    if (major, minor) < venv.oldest:
        wanted = ".".join(map(str, venv.oldest))
        raise Problem(f"{order.python} is Python {said.strip()}, and {wanted} or newer is needed; name another interpreter")


def _compile(venv: Venv, lock: int) -> None:
    """Its user may not write there, and a program that starts each minute shouldn't compile each time."""
    flags = ("-q", "-s", str(venv.staging), "-p", str(venv.path))
    run((str(venv.staging / "bin" / "python"), "-I", "-m", "compileall", *flags, str(venv.staging / "lib")), "compiling", lock)
