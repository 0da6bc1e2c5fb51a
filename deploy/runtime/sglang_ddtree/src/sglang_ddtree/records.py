"""Installed distributions of a venv, and whether their files still are what their RECORD says.

RECORD ("Recording installed projects" of the Python packaging specifications): CSV lines `path,sha256=<digest>,size`,
the digest in urlsafe base64 without padding, paths relative to site-packages; files without a digest (RECORD itself,
compiled .pyc) can't be checked.
"""

from __future__ import annotations

import base64
import csv
import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path

_CHUNK = 1024 * 1024
_IMPORTABLE = (".py", ".pth", ".so")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a RECORD: where the file is, and its sha256 as RECORD spells it."""

    path: Path
    digest: str | None


def site_packages(venv: Path) -> Path:
    """The venv's site-packages. Raises FileNotFoundError."""
    for path in sorted((venv / "lib").glob("python3*/site-packages")):
        return path
    raise FileNotFoundError(f"{venv}: no lib/python3*/site-packages")


def record_files(site: Path) -> dict[str, Path]:
    """`<dist-info>/RECORD` -> path, of every installed distribution."""
    return {f"{path.parent.name}/RECORD": path for path in sorted(site.glob("*.dist-info/RECORD"))}


def packages(site: Path) -> dict[str, str]:
    """Name -> version of every installed distribution."""
    found = {}
    for path in sorted(site.glob("*.dist-info/METADATA")):
        header = HeaderParser().parsestr(path.read_text(encoding="utf-8", errors="replace"))
        found[str(header["Name"])] = str(header["Version"])
    return found


def distribution_of(record: Path) -> str:
    """Name of the distribution that a RECORD belongs to."""
    try:
        text = (record.parent / "METADATA").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    return str(HeaderParser().parsestr(text)["Name"] or record.parent.name.split("-", 1)[0])


def read_record(record: Path) -> Iterator[Entry]:
    """The entries of one RECORD."""
    site = record.parent.parent
    with record.open(encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            digest = row[1] if len(row) > 1 and row[1].startswith("sha256=") else None
            yield Entry(site / row[0], digest)


def changed_files(site: Path) -> tuple[list[str], list[str]]:
    """(files that differ from their RECORD, files that are gone), relative to site-packages."""
    entries = [entry for record in record_files(site).values() for entry in read_record(record) if entry.digest]
    with ThreadPoolExecutor(max_workers=8) as pool:  # hashlib releases the interpreter lock
        states = list(pool.map(_state, entries))
    names = [_relative(entry.path, site) for entry in entries]
    changed = [name for name, state in zip(names, states, strict=True) if state == "changed"]
    missing = [name for name, state in zip(names, states, strict=True) if state == "missing"]
    return sorted(changed), sorted(missing)


def unowned_files(site: Path) -> dict[str, str]:
    """Importable files that no RECORD knows, with their sha256: a `.pth` or module put there by hand."""
    owned = {entry.path.resolve() for record in record_files(site).values() for entry in read_record(record)}
    found = {}
    for path in sorted(site.rglob("*")):
        if path.suffix in _IMPORTABLE and path.is_file() and path.resolve() not in owned:
            found[_relative(path, site)] = sha256(path)
    return found


def sha256(path: Path) -> str:
    """The file's sha256 in hexadecimal. Raises OSError."""
    return _digest(path).hex()


def _state(entry: Entry) -> str:
    try:
        digest = base64.urlsafe_b64encode(_digest(entry.path)).rstrip(b"=").decode("ascii")
    except OSError:
        return "missing"
    return "same" if f"sha256={digest}" == entry.digest else "changed"


def _digest(path: Path) -> bytes:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.digest()


def _relative(path: Path, site: Path) -> str:
    return str(path.relative_to(site)) if path.is_relative_to(site) else str(path)
