"""The cache stays small: trees used last are kept, and files of earlier versions go once nobody uses them."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

MOST_BYTES = 400 << 20  # a tree of SGLang takes 40 to 70 MB
KEPT_TREES = 4
KEPT_ROOTS = 50
_UNUSED_SECONDS = 14 * 86_400.0


def prune(database: sqlite3.Connection, keep: bytes, loads: Callable[[bytes], Any]) -> None:
    """Beyond the limit, only the trees used last stay, `keep` among them; SQLite uses the room of the others again."""
    database.execute("DELETE FROM roots WHERE root NOT IN (SELECT root FROM roots ORDER BY used DESC LIMIT ?)", (KEPT_ROOTS,))
    (pages,), (free,), (size,) = (
        database.execute(f"PRAGMA {what}").fetchone() for what in ("page_count", "freelist_count", "page_size")
    )
    if (pages - free) * size <= MOST_BYTES:
        return
    rows = database.execute("SELECT id, shas FROM trees ORDER BY id = ? DESC, used DESC", (keep,)).fetchall()
    needed = {sha for _, shas in rows[:KEPT_TREES] for sha in loads(shas) or ()}
    for tree, _ in rows[KEPT_TREES:]:
        database.execute("DELETE FROM postings WHERE tree = ?", (tree,))
        database.execute("DELETE FROM trees WHERE id = ?", (tree,))
    every = [row[0] for row in database.execute("SELECT sha FROM facts")]
    database.executemany("DELETE FROM facts WHERE sha = ?", ((sha,) for sha in every if sha not in needed))


def drop_old_files(current: Path) -> None:
    """Databases of other layouts and extractors that nobody wrote or read for two weeks."""
    with contextlib.suppress(OSError):
        for path in current.parent.glob("facts-*.sqlite*"):
            seen = path.stat()
            if not path.name.startswith(current.name) and max(seen.st_mtime, seen.st_atime) < time.time() - _UNUSED_SECONDS:
                path.unlink(missing_ok=True)
