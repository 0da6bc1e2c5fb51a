"""What is kept between runs: facts by the content of a file, and for each tree where names occur.

One SQLite file, which may be damaged, locked, full or unwritable: then nothing is kept, and all works as the first time.
Each value has a checksum: SQLite doesn't notice a bit that turned on the disk, and marshal may not survive one.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sqlite3
import time
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from ddtree_ops.runtime.source import pruning

LAYOUT = 2
_PATIENCE = 2.0  # seconds that another process may hold the file
_DAY = 86_400.0
_TABLES = """
CREATE TABLE IF NOT EXISTS facts (sha BLOB PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS trees
    (id BLOB PRIMARY KEY, used REAL NOT NULL, shas BLOB NOT NULL, problems BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS roots (root BLOB PRIMARY KEY, seen BLOB NOT NULL, used REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS postings (tree BLOB, name BLOB, files BLOB NOT NULL, PRIMARY KEY (tree, name)) WITHOUT ROWID;
"""
Problems = tuple[tuple[str, str], ...]
Seen = Mapping[str, tuple[tuple[int | str, ...], bytes]]


class StoreLostError(Exception):
    """What was here can't be asked any more: damaged, or held by another process for too long."""


class Kept(Protocol):
    """What there is to keep of a tree."""

    @property
    def fresh(self) -> Mapping[bytes, bytes]: ...
    @property
    def table(self) -> Mapping[str, tuple[int, ...]]: ...
    @property
    def problems(self) -> Problems: ...


def default_cache() -> Path:
    """`$XDG_CACHE_HOME/ddtree-ops/source`, by default below ~/.cache; for a user without a home, where nothing can be kept."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        home = Path(base) if base.startswith("/") else Path("~/.cache").expanduser()
    except RuntimeError:
        home = Path(os.devnull)
    return home / "ddtree-ops" / "source"


class Store:
    """The file; every method is a no-op, or finds nothing, once it turned out that the file can't be used."""

    def __init__(self, folder: Path | None, version: int) -> None:
        self._path = None if folder is None else folder / f"facts-{LAYOUT}-{version}.sqlite"
        self._database: sqlite3.Connection | None = None
        if self._path is not None:
            self._open(self._path, again=True)

    def _open(self, path: Path, *, again: bool) -> None:
        try:
            fresh = not path.exists()
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Threads take turns (a triage asks from another one); what is lost by a power cut is only found out anew.
            self._database = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
            self._database.execute("PRAGMA synchronous=OFF")
            self._database.executescript(_TABLES)
            if fresh:
                pruning.drop_old_files(path)
        except (sqlite3.Error, OSError) as error:
            self.close()
            if again and isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
                with contextlib.suppress(OSError):
                    path.unlink()
                self._open(path, again=False)

    def close(self) -> None:
        """Let the file go."""
        if self._database is not None:
            with contextlib.suppress(sqlite3.Error):
                self._database.close()
        self._database = None

    def _rows(self, question: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        try:
            return self._ask(question, values)
        except StoreLostError:
            return []

    def _ask(self, question: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        if self._database is None:
            raise StoreLostError
        try:
            return self._database.execute(question, values).fetchall()
        except sqlite3.OperationalError as error:
            raise StoreLostError from error
        except sqlite3.Error as error:
            self._damaged()
            raise StoreLostError from error

    def _damaged(self) -> None:
        self.close()
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection | None]:
        """A transaction: all or nothing, also if this process is killed in it."""
        database = self._database
        if database is None:
            yield None
            return
        try:
            database.execute("BEGIN IMMEDIATE")
            yield database
            database.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            with contextlib.suppress(sqlite3.Error):
                database.execute("ROLLBACK")
            if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
                self._damaged()
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                database.execute("ROLLBACK")
            raise

    def seen(self, root: str) -> Seen:
        """What was found at a root the last time: name -> (stamp, sha256)."""
        rows = self._rows("SELECT seen FROM roots WHERE root = ?", (_bytes(root),))
        found = _loads(rows[0][0]) if rows else None
        return found if isinstance(found, dict) else {}

    def facts(self, sha: bytes) -> bytes | None:
        """The facts of a content."""
        rows = self._rows("SELECT data FROM facts WHERE sha = ?", (sha,))
        return _checked(rows[0][0]) if rows else None

    def problems(self, tree: bytes) -> Problems | None:
        """The files of a tree that aren't understood; None if its postings aren't here."""
        rows = self._rows("SELECT problems FROM trees WHERE id = ?", (tree,))
        found = _loads(rows[0][0]) if rows else None
        return found if isinstance(found, tuple) else None

    def touch(self, tree: bytes) -> None:
        """Note once a day that a tree is still in use."""
        now = time.time()
        if self._rows("SELECT 1 FROM trees WHERE id = ? AND used < ?", (tree, now - _DAY)):
            self._rows("UPDATE trees SET used = ? WHERE id = ?", (now, tree))

    def files(self, tree: bytes, name: str) -> tuple[int, ...]:
        """Numbers of the files in which a name occurs. Raises StoreLostError: a name that isn't found is an answer, too."""
        rows = self._ask("SELECT files FROM postings WHERE tree = ? AND name = ?", (tree, _bytes(name)))
        found = _loads(rows[0][0]) if rows else ()
        if not isinstance(found, tuple):
            self._damaged()
            raise StoreLostError
        return found

    def names(self, tree: bytes) -> list[str]:
        """Every name of a tree. Raises StoreLostError."""
        rows = self._ask("SELECT name FROM postings WHERE tree = ?", (tree,))
        return [bytes(row[0]).decode("utf-8", "replace") for row in rows]

    def keep(self, root: str, seen: Seen, tree: bytes, made: Kept) -> None:
        """Write down a tree as found now, if that can be."""
        now = time.time()
        with self._writing() as database:
            if database is None:
                return
            database.executemany(
                "INSERT OR REPLACE INTO facts VALUES (?, ?)", ((sha, _with_sum(data)) for sha, data in sorted(made.fresh.items()))
            )
            shas = _dumps(tuple({sha for _, sha in seen.values()}))
            database.execute("INSERT OR REPLACE INTO trees VALUES (?, ?, ?, ?)", (tree, now, shas, _dumps(made.problems)))
            rows = sorted((_bytes(name), files) for name, files in made.table.items())
            database.executemany(
                "INSERT OR REPLACE INTO postings VALUES (?, ?, ?)", ((tree, name, _dumps(files)) for name, files in rows)
            )
            database.execute("INSERT OR REPLACE INTO roots VALUES (?, ?, ?)", (_bytes(root), _dumps(dict(seen)), now))
            pruning.prune(database, tree, _loads)


def _bytes(text: str) -> bytes:
    """File names may hold any byte, as surrogates."""
    return text.encode("utf-8", "surrogatepass")


def _with_sum(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4, "little") + data


def _checked(data: Any) -> bytes | None:
    whole = isinstance(data, bytes) and zlib.crc32(data[4:]).to_bytes(4, "little") == data[:4]
    return data[4:] if whole else None


def _dumps(value: Any) -> bytes:
    return _with_sum(marshal.dumps(value))


def _loads(data: bytes) -> Any:
    checked = _checked(data)
    return None if checked is None else marshal.loads(checked)  # noqa: S302 - written by this class, and whole
