"""Text at hand: modules of the standard library and the language reference that Python carries (`pydoc_data.topics`).

Three kinds of text, because drafting pays differently on each: code the target was trained on and knows by heart, code it
has never seen, and prose.
"""

from __future__ import annotations

import sysconfig
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

MODULE_BYTES = (4_000, 60_000)
UNSEEN_EVERY = 12


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents as text; `unseen` is held out of all training."""

    seen: tuple[str, ...]
    prose: tuple[str, ...]
    unseen: tuple[str, ...]

    @property
    def training(self) -> tuple[str, ...]:
        return self.seen + self.prose


def read_corpus(code_bytes: int, prose_bytes: int, library: Path | None = None) -> Corpus:
    """The first modules in order of their names until `code_bytes` are read, every 12th held out; topics likewise."""
    library = library or Path(sysconfig.get_path("stdlib"))
    seen: list[str] = []
    unseen: list[str] = []
    read = 0
    for number, path in enumerate(sorted(library.glob("*.py"))):
        if read >= code_bytes or not MODULE_BYTES[0] <= path.stat().st_size <= MODULE_BYTES[1]:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        (unseen if number % UNSEEN_EVERY == 0 else seen).append(text)
        read += len(text)
    return Corpus(tuple(seen), tuple(_topics(prose_bytes)), tuple(unseen))


def _topics(limit: int) -> list[str]:
    topics: dict[str, str] = import_module("pydoc_data.topics").topics
    taken: list[str] = []
    for name in sorted(topics):
        if sum(map(len, taken)) >= limit:
            break
        taken.append(topics[name])
    return taken
