"""The index of a tree that isn't known yet, or has changed: contents are hashed, and only those never seen are parsed."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from ddtree_ops.runtime.extract import FileFacts
from ddtree_ops.runtime.source.extraction import Content, Extracted, Progress, extract_all
from ddtree_ops.runtime.source.model import SourceFile, SourceTree
from ddtree_ops.runtime.source.store import Problems, Seen, Store

#: A file written so shortly before it was read may have changed again within one tick of its file system's clock.
_SETTLED_NS = 2_000_000_000


class Postings(Protocol):
    """Where names occur, by numbers of files; `problems`: files of which nothing is known."""

    @property
    def problems(self) -> Problems: ...
    def files(self, name: str) -> Iterable[int]: ...
    def every(self) -> Iterator[str]: ...


@dataclass(frozen=True)
class Made:
    """`shas`: what each file's content was; `fresh`: the facts of contents that are new."""

    shas: Mapping[str, bytes]
    fresh: Mapping[bytes, bytes]
    table: Mapping[str, tuple[int, ...]]
    problems: Problems

    def files(self, name: str) -> Iterable[int]:
        """Numbers of the files in which a name occurs."""
        return self.table.get(name, ())

    def every(self) -> Iterator[str]:
        """Every name."""
        return iter(self.table)


def identity(tree: SourceTree, shas: Mapping[str, bytes]) -> bytes:
    """What a tree is known by: its files' names and contents."""
    whole = hashlib.sha256()
    for file in tree.files:
        whole.update(file.name.encode("utf-8", "surrogatepass") + b"\0" + shas[file.name])
    return whole.digest()


def make(
    tree: SourceTree, store: Store, remembered: Mapping[str, bytes], workers: int | None, on_progress: Progress | None
) -> Made:
    """Read what isn't remembered, parse what is new, and keep it in the store."""
    begun = time.time_ns()
    shas = dict(remembered)
    gone: dict[str, str] = {}
    known = _Known(store)
    to_read = [file for file in tree.files if file.name not in shas or not known.has(shas[file.name])]
    contents = dict(_contents(to_read, shas, gone))
    new = {one.name: sha for sha, one in contents.items() if not known.has(sha)}
    for one in extract_all([contents[sha] for sha in new.values()], workers, on_progress):
        known.add(new[one.name], one)
    problems = ((file.name, problem) for file in tree.files if (problem := known.problems.get(shas[file.name])))
    made = Made(shas, known.fresh, _table(tree, shas, known.names), tuple(sorted((*gone.items(), *problems))))
    seen: Seen = {file.name: (_lasting(file, begun) if file.name not in gone else (), shas[file.name]) for file in tree.files}
    store.keep(tree.place or tree.root, seen, identity(tree, shas), made)
    return made


def _contents(files: Iterable[SourceFile], shas: dict[str, bytes], gone: dict[str, str]) -> Iterator[tuple[bytes, Content]]:
    """Each content once, by its hash; sets the hashes of all, and why a file couldn't be read."""
    for file in files:
        try:
            content = file.read()
        except OSError as error:
            gone[file.name] = error.strerror or str(error)
            shas[file.name] = b"unreadable"
            continue
        sha = shas[file.name] = hashlib.sha256(content).digest()
        yield sha, Content(file.name, content)


def _lasting(file: SourceFile, begun: int) -> tuple[int | str, ...]:
    """The stamp, if the next run may trust it."""
    written = file.stamp[1] if len(file.stamp) > 1 and file.path is not None else 0
    return () if isinstance(written, int) and written > begun - _SETTLED_NS else file.stamp


class _Known:
    """Names and problem of each content, as kept and whole, or as found now."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.fresh: dict[bytes, bytes] = {}
        self.names: dict[bytes, Iterable[str]] = {}
        self.problems: dict[bytes, str] = {}

    def has(self, sha: bytes) -> bool:
        return sha in self.names or self._load(sha)

    def _load(self, sha: bytes) -> bool:
        data = self._store.facts(sha)
        try:
            facts = FileFacts.load(data) if data is not None else None
        except (ValueError, EOFError, TypeError):
            facts = None
        if facts is not None:
            self._note(sha, facts, facts.names)
        return facts is not None

    def add(self, sha: bytes, one: Extracted) -> None:
        self.fresh[sha] = one.facts
        self.names[sha] = one.names
        if not one.names:
            self._note(sha, FileFacts.load(one.facts), ())

    def _note(self, sha: bytes, facts: FileFacts, names: Iterable[str]) -> None:
        self.names[sha] = names
        if facts.problem:
            self.problems[sha] = facts.problem


def _table(tree: SourceTree, shas: Mapping[str, bytes], names: Mapping[bytes, Iterable[str]]) -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = {}
    for number, file in enumerate(tree.files):
        for name in names.get(shas[file.name], ()):
            found.setdefault(name, []).append(number)
    return {name: tuple(numbers) for name, numbers in found.items()}
