"""Compiled modules of a staged venv: hard links to those of another release where the source is the same file, else compiled.

Layout of a .pyc: PEP 552; the first 16 bytes are magic number, flags (0: checked by time), time and size of the source.
"""

from __future__ import annotations

import compileall
import multiprocessing
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path

from .release_files import Identity, Known, identity

_HEADER = 16
# A pool takes longer to start than this many files to compile.
_FEW = 100
_CHUNK = 32


def provide(release: Path, final: Path, sources: Mapping[str, Identity], known: Mapping[Identity, Known]) -> tuple[int, int]:
    """Give every module in `sources` (path in the release -> what tells it apart) its .pyc.

    Returns how many were linked and how many compiled; tracebacks name them by `final`, the release's name to be. Files that
    aren't Python of this version are left without, as every installer does. Raises OSError.
    """
    missing, linked = [], 0
    for path, which in sources.items():
        source = release / path
        target = Path(cache_from_source(str(source)))
        if _fits(target, which):
            continue
        other = known.get(which)
        if other is not None and _link(other, target, which, known):
            linked += 1
        else:
            missing.append(source)
    _compile(missing, release, final)
    return linked, len(missing)


def _link(source: Known, target: Path, which: Identity, known: Mapping[Identity, Known]) -> bool:
    """Link the .pyc of the same source in another release, if that one is as it was staged."""
    compiled = Path(cache_from_source(str(source.path)))
    try:
        if identity(compiled.stat()) not in known or not _fits(compiled, which):
            return False
        target.parent.mkdir(exist_ok=True)
        target.unlink(missing_ok=True)
        os.link(compiled, target)
    except FileNotFoundError:
        return False
    return True


def _fits(compiled: Path, source: Identity) -> bool:
    """Whether a .pyc is one of this Python's for a source of that size and time."""
    size, mtime_ns, _ = source
    try:
        with compiled.open("rb") as file:
            header = file.read(_HEADER)
    except FileNotFoundError:
        return False
    seconds = mtime_ns // 1_000_000_000 & 0xFFFFFFFF
    wanted = MAGIC_NUMBER + bytes(4) + seconds.to_bytes(4, "little") + (size & 0xFFFFFFFF).to_bytes(4, "little")
    return header == wanted


def _compile(sources: Sequence[Path], release: Path, final: Path) -> None:
    one = partial(compileall.compile_file, quiet=2, stripdir=str(release), prependdir=str(final), force=True)
    if len(sources) <= _FEW:
        for source in sources:
            one(source)
        return
    # fork: a spawned worker would look for this package on its own
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("fork")) as pool:
        for _ in pool.map(one, sources, chunksize=_CHUNK):
            pass
