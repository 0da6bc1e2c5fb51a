"""The source of a release that isn't staged yet: wheels from here, over a staged release of the same lock, with the patches."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ddtree_ops import assets
from ddtree_ops.fleet.patch_format import diffs, lines
from ddtree_ops.runtime.source import archives, choosing
from ddtree_ops.runtime.source.model import SourceFile, SourceTree

if TYPE_CHECKING:
    from ddtree_ops.fleet.release import Release
    from ddtree_ops.fleet.state import Manifest

Files = dict[str, SourceFile]


def local(release: Release) -> SourceTree | None:
    """What wheels on this machine will install, with the release's patches; None if there are no wheels.

    What comes from a package index isn't here: then the tree has only the plugins.
    """
    files, version = _from_wheels(release)
    return _tree(release, files, version) if files else None


def over(release: Release, beside: SourceTree) -> SourceTree:
    """The same, where a staged release of the same lock tells what comes from the index.

    A distribution that is here replaces all of the packages that it has there.
    """
    here, version = _from_wheels(release)
    replaced = {name.split("/", 1)[0] for name in here}
    files = {file.name: file for file in beside.files if file.name.split("/", 1)[0] not in replaced} | here
    return _tree(release, files, version or beside.version)


def sibling(release: Release, manifests: Sequence[Manifest]) -> str | None:
    """A staged release whose packages from the index are those of `release`, without a patch in them."""
    lock = release.manifest_seed()["lock_sha256"]
    same = (one for one in manifests if one.content.get("lock_sha256") == lock and not one.content.get("patches"))
    return next((one.id for one in same), None)


def _from_wheels(release: Release) -> tuple[Files, str | None]:
    files: Files = {}
    version = None
    for path in _wheels(release):
        tree = archives.read(path)
        files |= {file.name: file for file in tree.files if file.name not in files}
        version = version or tree.version
    return files, version


def _wheels(release: Release) -> Iterable[Path]:
    """Local wheels, then those of the wheelhouse that serve or plug in."""
    yield from (Path(wheel.path) for wheel in release.inputs.wheels)
    house = release.spec.runtime.wheelhouse
    if house is not None:
        for name in choosing.SERVING:
            yield from sorted(Path(assets.expand(house)).glob(f"{name}-*.whl"))


def _tree(release: Release, files: Files, version: str | None) -> SourceTree:
    files = _patched(release, files)
    return SourceTree(release.id, version, tuple(files[name] for name in sorted(files)))


def _patched(release: Release, files: Files) -> Files:
    """A patch that doesn't fit, or is of a file that isn't known, changes nothing here; staging refuses it."""
    found = dict(files)
    for patch in release.inputs.patches:
        for change in diffs.parse(patch.name, patch.content):
            name = PurePosixPath(change.path).as_posix()
            known = found.get(name)
            if not choosing.is_source(name) or (known is None and not change.creates):
                continue
            after, conflicts = lines.patched(known.read() if known is not None else None, change)
            if conflicts:
                continue
            if after is None:
                found.pop(name, None)
            else:
                found[name] = SourceFile(name, None, (hashlib.sha256(after).hexdigest(),), partial(bytes, after))
    return found
