"""Check that model directories are complete and readable by the service user. Changes and downloads nothing.

Runs on the host as root, from standard input:  python3 - USER DIRECTORY... < model.py
The answer on standard output is {"findings": [{"path", "problem", "fix"}], "bytes": {directory: size of its weights}}.
"""

from __future__ import annotations

import json
import os
import pwd
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

NOBODY = 65534  # stands in for a service user that does not exist yet: both have no rights of their own
INDEX = "model.safetensors.index.json"  # written by transformers' save_pretrained for sharded weights
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
    except (OSError, ValueError) as error:
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
    return size, [] if os.access(path, os.R_OK) else [unreadable(path, user)]


def check_model(directory: Path, user: str) -> tuple[int, list[Finding]]:
    """Bytes of a model's weights, and everything that is wrong with its directory."""
    if not directory.is_dir():
        return 0, [Finding(str(directory), "is no directory", "put the model there, or mount its file system")]
    if not os.access(directory, os.R_OK | os.X_OK):
        return 0, [unreadable(directory / "config.json", user)]
    _, problems = read_json(directory / "config.json", user)
    names, index_problems = shard_names(directory, user)
    shards = [check_shard(directory / name, user) for name in names]
    found = [*problems, *index_problems, *(finding for _, wrong in shards for finding in wrong)]
    return sum(size for size, _ in shards), found


def main(user: str, directories: list[str]) -> None:
    if os.geteuid() == 0:
        become(user)
    checked = {directory: check_model(Path(directory), user) for directory in directories}
    answer = {
        "findings": [asdict(finding) for _, wrong in checked.values() for finding in wrong],
        "bytes": {directory: size for directory, (size, _) in checked.items()},
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
