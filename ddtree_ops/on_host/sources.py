"""The Python source of a release: names with their sha256, or contents as one compressed stream. Sent as text, run on the host.

Arguments: `list` RULES or `pack` RULES; RULES is base85 of zlib of JSON {"release": its directory, "serving": packages, "groups":
of entry points, "left_out": prefixes, "skipped": names of folders, "names": for `pack`}. `list` answers
{"packages": {...name: version}, "files": {name: [sha256, size]}} as JSON; names are relative to site-packages. `pack` answers
what `runtime.source.packing` reads: for each name the length of its content, and the content.
"""

from __future__ import annotations

import base64
import glob
import hashlib
import json
import os
import re
import sys
import zlib
from collections.abc import Iterator
from typing import Any

MOST_BYTES = 8 << 20  # of a file
MOST_FILES = 60000


def main(verb: str, packed: str) -> None:
    rules = json.loads(zlib.decompress(base64.b85decode(packed)))
    site = site_packages(rules["release"])
    if site is None:
        sys.exit("no venv in " + rules["release"])
    if verb == "list":
        json.dump({"packages": versions(site), "files": dict(listing(site, rules))}, sys.stdout)
    else:
        pack(site, rules["names"])


def site_packages(release: str) -> str | None:
    found = sorted(glob.glob(glob.escape(release) + "/venv/lib/python3*/site-packages"))
    return found[0] if found else None


def versions(site: str) -> dict[str, str]:
    names = (re.fullmatch(r"([A-Za-z0-9_.]+)-([\w.+!]+)\.dist-info", name) for name in os.listdir(site))
    return {name[1].lower(): name[2] for name in names if name}


def packages(site: str, rules: dict[str, Any]) -> list[str]:
    found = set(rules["serving"])
    for path in glob.glob(glob.escape(site) + "/*.dist-info/entry_points.txt"):
        group = None
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in map(str.strip, file.read(1 << 20).splitlines()):
                if line.startswith("["):
                    group = line.strip("[] ")
                elif group in rules["groups"] and "=" in line:
                    found.add(re.split(r"[.:\s]", line.split("=", 1)[1].strip())[0])
    return sorted(name for name in found if name.isidentifier())


def listing(site: str, rules: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    known = digests(rules["release"], site)
    number = 0
    for package in packages(site, rules):
        for name, seen in below(site, package, rules):
            number += 1
            if number > MOST_FILES:
                sys.exit(f"more than {MOST_FILES} files")
            sha = known.get((name, seen.st_size, seen.st_mtime_ns, seen.st_ino))
            try:
                yield name, [sha or digest(os.path.join(site, name)), seen.st_size]
            except OSError:  # gone since it was listed, or not ours to read
                continue


def below(site: str, package: str, rules: dict[str, Any]) -> Iterator[tuple[str, os.stat_result]]:
    if os.path.isfile(os.path.join(site, package + ".py")):
        yield package + ".py", os.lstat(os.path.join(site, package + ".py"))
    for folder, folders, files in os.walk(os.path.join(site, package)):
        folders[:] = [one for one in folders if not one.startswith(".") and one not in rules["skipped"]]
        for file in files:
            path = os.path.join(folder, file)
            name = os.path.relpath(path, site)
            if name.endswith(".py") and not name.startswith(tuple(rules["left_out"])) and not os.path.islink(path):
                yield name, os.lstat(path)


def digests(release: str, site: str) -> dict[tuple[Any, ...], str]:
    """What staging wrote down, of files that are still as they were then."""
    prefix = os.path.relpath(site, release) + "/"
    try:
        with open(os.path.join(release, "digests.json"), encoding="utf-8") as file:
            shas = json.load(file)["sha256"]
        with open(os.path.join(release, "files.json"), encoding="utf-8") as file:
            stats = json.load(file)["stat"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    ours = ((name, sha) for name, sha in shas.items() if name.startswith(prefix) and name in stats)
    return {(name[len(prefix) :], *stats[name]): sha for name, sha in ours}


def digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read(MOST_BYTES)).hexdigest()


def pack(site: str, names: list[str]) -> None:
    inside = os.path.realpath(site) + os.sep
    packer = zlib.compressobj(1)
    for name in names:
        content = inner(os.path.realpath(os.path.join(site, name)), inside)
        sys.stdout.buffer.write(packer.compress(len(content).to_bytes(4, "big") + content))
    sys.stdout.buffer.write(packer.flush())


def inner(path: str, inside: str) -> bytes:
    """Empty for what isn't there any more, or leads out of the release."""
    try:
        if path.startswith(inside) and os.path.isfile(path):
            with open(path, "rb") as file:
                return file.read(MOST_BYTES)
    except OSError:
        pass
    return b""


if __name__ == "__main__":
    main(*sys.argv[1:])
