"""A model's list of files with their sha256: lines of sha256sum, or JSON.

The controller reads the lists that lie there with it, and `verify_model.py` all of them on the host: standard library of
Python 3.9. Lines are as sha256sum(1) writes them (GNU coreutils manual, "md5sum invocation"): hash, blank, blank or asterisk,
name; with --tag `SHA256 (NAME) = HASH`. A backslash before either says that in the name `\\\\`, `\\n` and `\\r` stand for a
backslash, a line feed and a carriage return. Lines that begin with `#` are comments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

SUM_LINE = re.compile(r"(\\?)([0-9a-fA-F]{64}) [ *](.+)", re.DOTALL)
TAG_LINE = re.compile(r"(\\?)SHA256 \((.+)\) = ([0-9a-fA-F]{64})", re.DOTALL)
SHA256 = re.compile(r"[0-9a-f]{64}")
ESCAPE = re.compile(r"\\(.?)", re.DOTALL)
ESCAPES = {"\\": "\\", "n": "\n", "r": "\r"}
MOST_FILE_BYTES = 2**60


@dataclass(frozen=True)
class Wanted:
    """A file as it should be: its digest in hexadecimal (64 digits: sha256; 40: git's id of a blob) and its size, if known."""

    path: str
    digest: str
    size: int | None = None


class Unusable(Exception):
    """The list can't be used; says why, and where."""


def problem(text: str) -> str | None:
    """Why a list can't be used, or None."""
    try:
        parse(text)
    except Unusable as error:
        return str(error)
    return None


def parse(text: str) -> list[Wanted]:
    """Every file once. Raises Unusable, also for a list of nothing."""
    text = text.removeprefix("\ufeff")
    if "\0" in text:
        raise Unusable("has NUL characters; lists of sha256sum -z aren't read: make it without -z")
    entries = from_json(text) if text.lstrip().startswith(("{", "[")) else from_lines(text)
    found = once(entries)
    if not found:
        raise Unusable("names no files")
    return found


def once(entries: Iterable[tuple[str, Wanted]]) -> list[Wanted]:
    """The entries without repeats. Raises Unusable for two that contradict each other."""
    found: dict[str, tuple[str, Wanted]] = {}
    for where, given in entries:
        wanted = checked(where, given)
        before, known = found.setdefault(wanted.path, (where, wanted))
        if known != wanted:
            what = "sha256" if known.digest != wanted.digest else "size"
            raise Unusable(f"{before} and {where} contradict each other: {wanted.path} has another {what} in each")
    return [wanted for _, wanted in found.values()]


def checked(where: str, wanted: Wanted) -> Wanted:
    """The path, normalised, stays inside the model, and the digest is one."""
    if not wanted.path.isprintable():
        raise Unusable(f"{where}: the name {wanted.path[:200]!a} has characters that can't be shown")
    path = PurePosixPath(wanted.path)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise Unusable(f"{where}: the path {wanted.path[:200]!r} leads out of the model")
    if not SHA256.fullmatch(wanted.digest):
        raise Unusable(f"{where}: {str(path)[:200]}: {wanted.digest[:80]!a} is no sha256")
    return Wanted(str(path), wanted.digest, wanted.size)


def from_lines(text: str) -> Iterator[tuple[str, Wanted]]:
    """Where each file stands, and the file. Only a line feed ends a line: names may have other line ends."""
    for number, line in enumerate(text.split("\n"), 1):
        line = line[:-1] if line.endswith("\r") else line  # noqa: PLW2901
        if not line.strip() or line.startswith("#"):
            continue
        if plain := SUM_LINE.fullmatch(line):
            escaped, digest, name = plain.groups()
        elif tagged := TAG_LINE.fullmatch(line):
            escaped, name, digest = tagged.groups()
        else:
            raise Unusable(f"line {number} is no line of sha256sum")
        yield f"line {number}", Wanted(unescaped(number, name) if escaped else name, digest.lower())


def unescaped(number: int, name: str) -> str:
    """A name behind a backslash in front of its line."""
    wrong = next((one[1] for one in ESCAPE.finditer(name) if one[1] not in ESCAPES), None)
    if wrong is not None:
        raise Unusable(f"line {number}: sha256sum has no escape {chr(92) + wrong!a}")
    return ESCAPE.sub(lambda one: ESCAPES[one[1]], name)


def from_json(text: str) -> Iterator[tuple[str, Wanted]]:
    """`{path: sha256}`, `{path: {sha256, size}}`, `[{path, sha256, size}]`; the first two also below "files"."""
    try:
        document = json.loads(text, object_pairs_hook=without_repeats)
    except RecursionError:
        raise Unusable("is JSON that is nested too deeply") from None
    except ValueError as error:
        raise Unusable(f"is no JSON: {error}") from None
    files = document.get("files", document) if isinstance(document, dict) else document
    if isinstance(files, dict):
        for path, entry in files.items():
            yield f"entry {path[:200]!a}", from_entry(path, entry)
    elif isinstance(files, list):
        for number, entry in enumerate(files, 1):
            path = entry.get("path") if isinstance(entry, dict) else None
            yield f"entry {number}", from_entry(path, entry)
    else:
        raise Unusable("expected JSON that names files with their sha256")


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, in which no name stands twice with two values: Python would silently take the last."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        known = found.setdefault(name, value)
        if known is not value and known != value:  # NaN isn't equal to itself
            raise Unusable(f"the name {name[:200]!a} stands there twice, with two values")
    return found


def from_entry(path: Any, entry: Any) -> Wanted:
    """One file of a list in JSON."""
    given = {"sha256": entry} if isinstance(entry, str) else entry
    if not isinstance(path, str) or not isinstance(given, dict) or not isinstance(given.get("sha256"), str):
        raise Unusable(f"expected JSON that names files with their sha256: {ascii(path)[:200]} has none")
    size = given.get("size")
    if size is not None and (type(size) is not int or not 0 <= size <= MOST_FILE_BYTES):
        raise Unusable(f"{path[:200]!a}: its size is no whole number of bytes")
    return Wanted(path, given["sha256"].lower(), size)
