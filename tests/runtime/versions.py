"""Released source trees for the golden cases: fetched once by pip into a cache folder, checked by sha256, unpacked.

`python -m tests.runtime.versions [LABEL...]` (all without a label) makes `build/sources/<label>/`, a folder that holds the
package as site-packages would; `make unit` asks for the first of them, `make versions` for all. versions.txt says which.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

LOCK = Path(__file__).with_name("versions.txt")
REPOSITORY = Path(__file__).parents[2]
FOLDER_VARIABLE = "DDTREE_SOURCES"
"""Where the trees are. Set by make: then a tree that is missing is an error, not a skip."""
_FOR_HOSTS = ("--python-version", "3.12", "--only-binary", ":all:")
_PLATFORMS = ("manylinux_2_34_x86_64", "manylinux_2_28_x86_64", "manylinux2014_x86_64", "any")


class WrongFile(RuntimeError):
    """A wheel isn't the one in versions.txt; the message names both hashes."""


@dataclass(frozen=True)
class Release:
    """One line of versions.txt."""

    label: str
    requirement: str
    wheel: str
    sha256: str


def releases() -> tuple[Release, ...]:
    """What versions.txt lists, in its order."""
    lines = (line.split() for line in LOCK.read_text().splitlines() if line and not line.startswith("#"))
    return tuple(Release(*fields) for fields in lines)


def folder() -> Path:
    """Where trees are looked for and put."""
    return Path(os.environ.get(FOLDER_VARIABLE) or REPOSITORY / "build" / "sources")


def fetch(release: Release, into: Path) -> Path:
    """The tree of a release. Raises WrongFile, and CalledProcessError where pip can't find it."""
    tree = into / release.label
    if _is_whole(tree, release):
        return tree
    wheel = into / "wheels" / release.wheel
    if not (wheel.is_file() and _sha256(wheel) == release.sha256):
        _download(release, wheel.parent)
    if (found := _sha256(wheel)) != release.sha256:
        wheel.unlink()
        raise WrongFile(f"{release.wheel} has sha256 {found}, versions.txt says {release.sha256}")
    _unpack(wheel, tree, release)
    return tree


def _is_whole(tree: Path, release: Release) -> bool:
    mark = tree / "RELEASE"
    return mark.is_file() and mark.read_text() == release.sha256


def _download(release: Release, into: Path) -> None:
    platforms = [argument for name in _PLATFORMS for argument in ("--platform", name)]
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps")
    subprocess.run((*pip, *_FOR_HOSTS, *platforms, "--dest", str(into), release.requirement), check=True)


def _unpack(wheel: Path, tree: Path, release: Release) -> None:
    """Python files and the distribution's metadata; the rest (kernels, images) has no source to trace."""
    fresh = tree.with_name(f"{tree.name}.new-{os.getpid()}")
    shutil.rmtree(fresh, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(fresh, [name for name in archive.namelist() if name.endswith(".py") or ".dist-info/" in name])
    (fresh / "RELEASE").write_text(release.sha256)
    shutil.rmtree(tree, ignore_errors=True)
    fresh.rename(tree)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main(labels: list[str]) -> None:
    """Fetch the releases with these labels, or all."""
    known = releases()
    if unknown := set(labels) - {release.label for release in known}:
        sys.exit(f"versions.txt has no {', '.join(sorted(unknown))}")
    for release in known:
        if not labels or release.label in labels:
            fetch(release, folder())


if __name__ == "__main__":
    main(sys.argv[1:])
