"""The source of a release: as it is staged on a host, or as its wheels and patches here will make it."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ddtree_ops import assets
from ddtree_ops.errors import HostCommandFailed, HostTimedOut
from ddtree_ops.fleet import places
from ddtree_ops.ports import Command, Completed, Shell
from ddtree_ops.runtime.source import choosing, packing
from ddtree_ops.runtime.source.contents import Contents
from ddtree_ops.runtime.source.model import MOST_FILES, SourceFile, SourceTree
from ddtree_ops.runtime.source.store import default_cache

if TYPE_CHECKING:
    from ddtree_ops.fleet.release import Release
    from ddtree_ops.fleet.state import Manifest

_LIST_BYTES = 24 << 20
_LIST_SECONDS = 60.0
_PART = 3000  # names asked for in one command
_WORD_BYTES = 100_000  # one argument may have 128 KiB (execve(2), MAX_ARG_STRLEN)


def staged(shell: Shell, release_id: str) -> SourceTree:
    """The source of a release on a host; only contents that aren't here yet travel.

    Raises Unreachable, HostCommandFailed (no such release, or no python3 there).
    """
    contents = Contents(default_cache())
    place = f"{places.ROOT}/releases/{release_id}"
    listed = _listed(shell, place)
    files = _sound(listed["files"])
    missing = sorted(name for name, sha in files.items() if not contents.has(sha))
    for start in range(0, len(missing), _PART):
        _fetch(shell, place, missing[start : start + _PART], contents)
    if missing:
        contents.prune()
    tree = tuple(
        SourceFile(name, None, (sha,), partial(contents.read, sha)) for name, sha in sorted(files.items()) if contents.has(sha)
    )
    return SourceTree(f"{shell.host}:{place}", _version(listed.get("packages")), tree)


def _sound(listed: Mapping[Any, Any]) -> dict[str, str]:
    """What a host says isn't taken on trust."""
    found: dict[str, str] = {}
    for name, row in listed.items():
        sha = row[0] if isinstance(row, list) and row else None
        inside = choosing.is_source(name) and not name.startswith("/") and ".." not in name.split("/")
        if inside and name.isprintable() and isinstance(sha, str):
            found[name] = sha
    return found


def _version(packages: object) -> str | None:
    known = packages if isinstance(packages, dict) else {}
    found = known.get("sglang") or known.get("vllm")
    return found[:60] if isinstance(found, str) else None


def _listed(shell: Shell, place: str) -> dict[str, Any]:
    done = _run(shell, Command(_argv("list", place, ()), frozenset({0, 1}), _LIST_SECONDS, _LIST_BYTES), place)
    if done.exit_code:
        said = done.stderr.strip().splitlines() or ["no reason"]
        raise HostCommandFailed(f"{shell.host}: the source in {place} can't be listed: {said[-1][:300]}")
    try:
        listed = json.loads(done.stdout)
        if isinstance(listed["files"], dict) and len(listed["files"]) <= MOST_FILES:
            return dict(listed)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise HostCommandFailed(f"{shell.host}: the list of source files in {place} is damaged")


def _run(shell: Shell, command: Command, place: str) -> Completed:
    try:
        return shell.run(command)
    except HostTimedOut as error:  # its message, and the other's, would quote the whole program
        raise HostTimedOut(f"{shell.host}: to list the source in {place} took more than {_LIST_SECONDS:.0f} s") from error
    except HostCommandFailed as error:
        raise HostCommandFailed(f"{shell.host}: the source in {place} can't be listed", hint="is python3 there?") from error


def _fetch(shell: Shell, place: str, names: Sequence[str], contents: Contents) -> None:
    """A file that changed since it was listed has another hash, and is left out."""
    argv = _argv("pack", place, names)
    if len(argv[-1]) > _WORD_BYTES and len(names) > 1:
        middle = len(names) // 2
        _fetch(shell, place, names[:middle], contents)
        _fetch(shell, place, names[middle:], contents)
        return
    try:
        with shell.stream(argv) as stream:
            for content in packing.unpacked(stream.chunks()):
                contents.keep(content)
    except packing.DamagedStreamError as error:
        raise HostCommandFailed(f"{shell.host}: the source in {place} came damaged: {error}") from error
    except HostCommandFailed as error:  # it would quote the whole program
        raise HostCommandFailed(f"{shell.host}: the source in {place} can't be read") from error


def _argv(verb: str, place: str, names: Sequence[str]) -> tuple[str, ...]:
    rules = {
        "release": place,
        "serving": choosing.SERVING,
        "groups": choosing.PLUGIN_GROUPS,
        "left_out": choosing.LEFT_OUT,
        "skipped": sorted(choosing.SKIPPED),
        "names": list(names),
    }
    program = (Path(assets.__file__).parent / "on_host" / "sources.py").read_text(encoding="utf-8")
    packed = base64.b85encode(zlib.compress(json.dumps(rules).encode(), 9)).decode()
    return ("python3", "-I", "-S", "-c", program, verb, packed)


def planned(shell: Shell, release: Release, manifests: Sequence[Manifest], *, whole: bool = True) -> SourceTree | None:
    """The source of a release, staged on the host or not; None if nothing of it can be known.

    `manifests`: of the releases that are staged there; `whole`: if this one is among them, it is as it was staged.
    Raises Unreachable, HostCommandFailed, UsageError (a damaged wheel), OSError.
    """
    from ddtree_ops.flows import planned_source

    if whole and any(one.id == release.id for one in manifests):
        return staged(shell, release.id)
    beside = planned_source.sibling(release, manifests)
    return planned_source.over(release, staged(shell, beside)) if beside else planned_source.local(release)
