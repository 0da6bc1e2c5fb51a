"""Read what a release is made of: lock, unit template, wheels."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ddtree_ops import assets
from ddtree_ops.errors import InvalidInventory
from ddtree_ops.fleet.model_manifest import read_manifests
from ddtree_ops.fleet.patches import read_patches
from ddtree_ops.fleet.regular_file import read_regular_text
from ddtree_ops.fleet.release import LocalWheel, Release, ReleaseInputs, build, one_wheel, read_wheel
from ddtree_ops.fleet.secret_refs import value_problem

if TYPE_CHECKING:
    from ddtree_ops.fleet.inventory import Host
    from ddtree_ops.fleet.spec import ServingSpec

UNIT_TEMPLATE = Path("roles/service/templates/ddtree-server@.service.j2")
_MOST_BYTES = 16 * 2**20
_MOST_SECRET = 2**16
PLUGIN = "sglang_ddtree-*.whl"


def release_of(host: Host) -> Release:
    """The release that a host's spec asks for. Raises InvalidInventory for a missing lock, wheel or secret."""
    spec = host.serving
    _check_secrets(host, spec)
    _check_gate(host, spec)
    lock = assets.lock(spec.runtime.lock)
    if not os.path.exists(lock):  # noqa: PTH110 - Path.exists() raises for a name that is too long
        known = sorted(path.stem for path in (assets.root() / "deploy" / "locks").glob("*.txt") if path.stem != "uv")
        raise InvalidInventory(f"{host.name}: runtime.lock: no lock at {lock}", hint=f"known: {', '.join(known)}")
    inputs = ReleaseInputs(
        lock_name=lock.stem,
        lock_text=read_regular_text(lock, _MOST_BYTES, key=f"{host.name}: runtime.lock"),
        unit_template=(assets.root() / UNIT_TEMPLATE).read_text(),
        wheels=_wheels(spec),
        patches=read_patches(spec.runtime.patches, host.folder, host.name),
        model_manifests=read_manifests(spec, host.folder),
    )
    return build(spec, host.hardware, inputs)


def _wheels(spec: ServingSpec) -> tuple[LocalWheel, ...]:
    patterns = [str(assets.wheels() / PLUGIN), *(assets.expand(wheel) for wheel in spec.runtime.wheels)]
    return tuple(read_wheel(one_wheel(pattern)) for pattern in patterns)


def _check_secrets(host: Host, spec: ServingSpec) -> None:
    """What can be seen of the secrets here; values in an Ansible vault only Ansible can read, and the role checks them."""
    for name, ref in spec.secrets.items():
        if ref.env is not None:
            where, value = f"environment variable {ref.env}", os.environ.get(ref.env)
        elif ref.file is not None:
            where, value = f"file {ref.file}", _secret_file(ref.file, f"{host.name}: secrets.{name}")
        else:
            continue
        problem = "is not there" if value is None else value_problem(value)
        if problem:
            raise InvalidInventory(f"{host.name}: secrets.{name}: {where} {problem}")


def _check_gate(host: Host, spec: ServingSpec) -> None:
    """A missing prompt set or baseline must show now, not when the new release already serves."""
    if spec.gate.prompts is None and spec.gate.baseline is None:
        return  # nothing of the user's to read; and the reader costs 25 ms
    from ddtree_ops.fleet.gate_files import check_files

    try:
        check_files(spec)
    except InvalidInventory as error:
        raise InvalidInventory(f"{host.name}: {error.message}", hint=error.hint) from error


def _secret_file(name: str, key: str) -> str:
    try:
        path = Path(assets.expand(name)).expanduser()
    except RuntimeError as error:  # ~user, and there is no such user
        raise InvalidInventory(f"{key}: {name}: {error}", hint="name the file by its absolute path") from error
    return read_regular_text(path, _MOST_SECRET, key=key, hint="put the secret's value into that file")
