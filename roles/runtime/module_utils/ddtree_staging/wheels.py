"""Wheels on the host: which are missing, and taking in those that the controller has sent."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from ansible.module_utils.ddtree_staging.order import Installation, Wheel
from ansible.module_utils.ddtree_staging.problem import Problem

_CHUNK = 2**20
_PART = ".part-"


def missing(order: Installation) -> list[Wheel]:
    """Wheels that aren't on the host, or whose content isn't what their sha256 says."""
    return [wheel for wheel in order.wheels if digest(order.wheel_path(wheel)) != wheel.sha256]


def take_in(order: Installation, incoming: Path) -> None:
    """Move what was sent (`incoming`/<sha256>) to its place, by a rename. Raises Problem for another content."""
    clean(order)
    for wheel in missing(order):
        sent = incoming / wheel.sha256
        if not sent.exists():  # it will be asked for
            continue
        if digest(sent) != wheel.sha256:
            raise Problem(f"the wheel {wheel.name} did not arrive whole; deploy again")
        target = order.wheel_path(wheel)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = order.wheelhouse / f"{_PART}{wheel.sha256}"
        shutil.copyfile(sent, part)
        part.chmod(0o644)
        _flush(part)
        part.replace(target)


def clean(order: Installation) -> None:
    """Remove what an interrupted run has left."""
    for path in order.wheelhouse.glob(f"{_PART}*"):
        path.unlink()


def digest(path: Path) -> str:
    """sha256 of a file in hexadecimal; empty if it isn't there."""
    found = hashlib.sha256()
    try:
        with path.open("rb") as file:
            for chunk in iter(lambda: file.read(_CHUNK), b""):
                found.update(chunk)
    except FileNotFoundError:
        return ""
    return found.hexdigest()


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
