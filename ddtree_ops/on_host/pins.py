"""Versions that a requirements file with hashes pins. Runs on the host and on the controller, so that both read it alike."""

from __future__ import annotations

import hashlib
import re
from itertools import islice

from .releases import read_bytes

MOST_BYTES = 8 << 20  # the lock of SGLang has 0.4 MB
MOST_PINS = 4000
# A requirement and its continuation lines, which are indented.
_BLOCK = re.compile(r"^[A-Za-z0-9][^\n]*(?:\n[ \t][^\n]*)*", re.MULTILINE)
_PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,99})(?:\[[^\]\n]{0,200}\])? ?== ?([A-Za-z0-9.!+_-]{1,100})")
_HASH = re.compile(r"--hash=(sha256:[0-9a-f]{64})")


def pins(text: str) -> dict[str, list[str]]:
    """{"torch": ["2.9.1", "<12 digits of its files' hashes>"]}; a name that is pinned twice (by markers) has both versions."""
    found: dict[str, list[str]] = {}
    for block in islice(_BLOCK.finditer(text), MOST_PINS):
        pin = _PIN.match(block[0])
        if pin is None:
            continue
        known = found.setdefault(re.sub(r"[-_.]+", "-", pin[1]).lower(), ["", ""])
        known[0] = f"{known[0]} or {pin[2]}" if known[0] else pin[2]
        known[1] += "".join(sorted(_HASH.findall(block[0])))
    return {name: [version, hashlib.sha256(hashes.encode()).hexdigest()[:12]] for name, (version, hashes) in found.items()}


def of_release(root: str, release: str) -> dict[str, list[str]] | None:
    """Those of a release on this host; None if its list can't be read."""
    data = read_bytes(f"{root}/releases/{release}/requirements.txt", MOST_BYTES)
    return pins(data.decode("utf-8", "replace")) if data is not None else None
