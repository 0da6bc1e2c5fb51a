"""Check that model directories are complete and readable by the service user. Changes and downloads nothing.

Runs on the host as root, from standard input:  python3 - USER DIRECTORY... < model.py
The answer on standard output is {"findings": [{"path", "problem", "fix"}], "bytes": {directory: size of its weights},
"configs": {directory: its config.json, or null}}: of a config only numbers, words and short lists, so that it stays small.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

NOBODY = 65534  # stands in for a service user that does not exist yet: both have no rights of their own
INDEX = "model.safetensors.index.json"  # written by transformers' save_pretrained for sharded weights
# safetensors: 8 bytes with the length of the header, the header in JSON, then the tensors; the file ends with the last of them.
HEADER_LENGTH_BYTES = 8
MOST_HEADER_BYTES = 100_000_000  # as its own reader allows
OFFSETS = re.compile(rb'"data_offsets"\s{0,8}:\s{0,8}\[\s{0,8}\d{1,20}\s{0,8},\s{0,8}(\d{1,20})')
MOST_CONFIG_BYTES = 1 << 20  # of a file that is read for its figures; real ones have up to 100 KiB
MOST_NUMBER = 2**53
MOST_ENTRIES, MOST_LETTERS, DEEPEST = 300, 200, 4
REFETCH = "fetch this file again (nothing is downloaded by a deploy)"


@dataclass(frozen=True)
class Finding:
    """One file that would stop the load."""

    path: str
    problem: str
    fix: str


def become(user: str) -> None:
    """Give up root for good, so that every answer is what the service would see."""
    try:
        entry = pwd.getpwnam(user)
        groups, gid, uid = os.getgrouplist(user, entry.pw_gid), entry.pw_gid, entry.pw_uid
    except KeyError:
        groups, gid, uid = [], NOBODY, NOBODY
    os.setgroups(groups)
    os.setgid(gid)
    os.setuid(uid)


def read_json(path: Path, user: str) -> tuple[object, list[Finding]]:
    """The file's content, or what is wrong with the file."""
    try:
        return json.loads(path.read_bytes()), []
    except FileNotFoundError:
        return None, [Finding(str(path), "is missing", REFETCH)]
    except PermissionError:
        return None, [unreadable(path, user)]
    except (OSError, ValueError, RecursionError) as error:
        return None, [Finding(str(path), f"can't be used: {error}", REFETCH)]


def unreadable(path: Path, user: str) -> Finding:
    """Name the first directory on the way that is closed, for that is where the fix goes."""
    closed = [parent for parent in reversed(path.parents) if not os.access(parent, os.X_OK)]
    if closed:
        return Finding(str(path), f"can't be reached by user {user}", f"chmod o+x {closed[0]}")
    return Finding(str(path), f"can't be read by user {user}", f"chmod o+r {path}")


def shard_names(directory: Path, user: str) -> tuple[list[str], list[Finding]]:
    """The weight files that belong to the model: those its index names, or without one all *.safetensors."""
    index = directory / INDEX
    if not os.path.lexists(index):
        names = sorted(path.name for path in directory.glob("*.safetensors"))
        missing = Finding(str(directory), f"has neither {INDEX} nor a *.safetensors file", "fetch the model's weights")
        return names, [] if names else [missing]
    content, problems = read_json(index, user)
    if problems:
        return [], problems
    weight_map = content.get("weight_map") if isinstance(content, dict) else None
    if not isinstance(weight_map, dict) or not weight_map:
        return [], [Finding(str(index), "names no weight files (weight_map)", REFETCH)]
    return sorted({str(name) for name in weight_map.values()}), []


def check_shard(path: Path, user: str) -> tuple[int, list[Finding]]:
    """Size of one weight file in bytes, or why it can't be loaded."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return 0, [Finding(str(path), "is missing", REFETCH)]
    except OSError:
        return 0, [unreadable(path, user)]
    if size == 0:
        return 0, [Finding(str(path), "is empty", REFETCH)]
    if not os.access(path, os.R_OK):
        return size, [unreadable(path, user)]
    meant = meant_size(path, size) if path.suffix == ".safetensors" else size
    if meant is None:
        return size, [Finding(str(path), "has no readable header, so it is no safetensors file", REFETCH)]
    if size != meant:
        what = "is truncated" if size < meant else "is too long"
        return size, [Finding(str(path), f"{what}: {size} of {meant} bytes", REFETCH)]
    return size, []


def meant_size(path: Path, size: int) -> int | None:
    """The size in bytes that a safetensors file's own header means; None for another kind of file."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(HEADER_LENGTH_BYTES), "little")
            if not 2 <= length <= min(MOST_HEADER_BYTES, size - HEADER_LENGTH_BYTES):
                return None
            header = file.read(length)
    except OSError:
        return None
    ends = [int(end) for end in OFFSETS.findall(header)]
    return HEADER_LENGTH_BYTES + length + max(ends, default=0) if header.startswith(b"{") else None


def cache_entry(directory: Path) -> Finding | None:
    """`models--<org>--<name>` of a Hugging Face cache holds models, but is none: they lie in snapshots/<revision>."""
    snapshots = directory / "snapshots"
    if (directory / "config.json").exists() or not snapshots.is_dir():
        return None
    names = sorted(path.name for path in snapshots.iterdir())
    try:
        main = (directory / "refs" / "main").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        main = ""
    best = main if main in names else names[-1] if names else "REVISION"
    problem = f"is an entry of a Hugging Face cache, which holds {len(names)} revisions of the model"
    return Finding(str(directory), problem, f"use the path {snapshots / best}")


def room(directory: Path, present: int) -> list[Finding]:
    """Whether what is missing would fit: the index may know the size of all weights."""
    try:
        total = json.loads((directory / INDEX).read_bytes())["metadata"]["total_size"]
        lacking, free = int(total) - present, shutil.disk_usage(directory).free
    except (OSError, ValueError, KeyError, TypeError):
        return []
    if lacking <= free:
        return []
    problem = f"lacks {lacking >> 20} MiB of weights, and {free >> 20} MiB are free there"
    return [Finding(str(directory), problem, "make room first")]


def check_model(directory: Path, user: str) -> tuple[int, list[Finding]]:
    """Bytes of a model's weights, and everything that is wrong with its directory."""
    if not directory.is_dir():
        return 0, [Finding(str(directory), "is no directory", "put the model there, or mount its file system")]
    if not os.access(directory, os.R_OK | os.X_OK):
        return 0, [unreadable(directory / "config.json", user)]
    if entry := cache_entry(directory):
        return 0, [entry]
    _, problems = read_json(directory / "config.json", user)
    names, index_problems = shard_names(directory, user)
    shards = [check_shard(directory / name, user) for name in names]
    found = [*problems, *index_problems, *(finding for _, wrong in shards for finding in wrong)]
    present = sum(size for size, _ in shards)
    return present, found + (room(directory, present) if found else [])


def figures(directory: Path) -> object:
    """What config.json says of the model's shape; None for a file that isn't there, or isn't JSON."""
    try:
        with (directory / "config.json").open("rb") as file:
            text = file.read(MOST_CONFIG_BYTES + 1)
        return bounded(json.loads(text), DEEPEST) if len(text) <= MOST_CONFIG_BYTES else None
    except (OSError, ValueError, RecursionError):
        return None


def bounded(value: object, depth: int) -> object:
    """The value without what is too long or too deep: long lists (vocabularies, names of layers) say nothing of the shape."""
    if isinstance(value, dict):
        pairs = ((str(key)[:MOST_LETTERS], bounded(item, depth - 1)) for key, item in list(value.items())[:MOST_ENTRIES])
        return dict(pairs) if depth else None
    if isinstance(value, list):
        return [bounded(item, depth - 1) for item in value] if depth and len(value) <= MOST_ENTRIES else None
    if isinstance(value, str):
        return value[:MOST_LETTERS]
    return value if value is None or isinstance(value, bool) or abs(value) < MOST_NUMBER else None


def main(user: str, directories: list[str]) -> None:
    if os.geteuid() == 0:
        become(user)
    checked = {directory: check_model(Path(directory), user) for directory in directories}
    answer = {
        "findings": [asdict(finding) for _, wrong in checked.values() for finding in wrong],
        "bytes": {directory: size for directory, (size, _) in checked.items()},
        "configs": {directory: figures(Path(directory)) for directory in directories},
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
