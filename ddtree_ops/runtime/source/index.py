"""An index of a source tree: in which files a name occurs, and what value goes where in each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ddtree_ops.runtime.extract import EXTRACTOR_VERSION, FileFacts, extract, unknown
from ddtree_ops.runtime.source.extraction import Progress
from ddtree_ops.runtime.source.making import Made, Postings, identity, make
from ddtree_ops.runtime.source.model import SourceFile, SourceTree
from ddtree_ops.runtime.source.store import Store, StoreLostError, default_cache


class Index:
    """Facts are loaded when they are asked for. `unreadable`: files of which nothing is known, each with the reason."""

    def __init__(self, tree: SourceTree, shas: Mapping[str, bytes], store: Store, postings: Postings, made: Made | None = None):
        self.tree = tree
        self.unreadable: tuple[tuple[str, str], ...] = postings.problems
        self._numbered = tuple(file.name for file in tree.files)
        self._shas = shas
        self._store = store
        self._fresh: Mapping[bytes, bytes] = made.fresh if made is not None else {}
        self._postings = postings
        self._facts: dict[str, FileFacts] = {}
        self._files = {file.name: file for file in tree.files}

    def names(self, name: str) -> tuple[str, ...]:
        """The files in which an identifier, attribute or string constant of that name occurs."""
        return tuple(self._numbered[number] for number in self._postings.files(name))

    def every_name(self) -> Iterator[str]:
        """All of them, to find one that was meant."""
        return self._postings.every()

    def facts(self, file: str) -> FileFacts:
        """What is known of a file. Raises KeyError for one that the tree doesn't have."""
        found = self._facts.get(file)
        if found is None:
            found = self._facts[file] = self._load(file)
        return found

    def source(self, file: str) -> SourceFile:
        """The file itself. Raises KeyError."""
        return self._files[file]

    def _load(self, file: str) -> FileFacts:
        sha = self._shas[file]
        data = self._fresh.get(sha) or self._store.facts(sha)
        if data is not None:
            try:
                return FileFacts.load(data).renamed(file)
            except (ValueError, EOFError, TypeError):
                pass  # written by another build of the same version: found anew
        try:
            return extract(file, self._files[file].read())
        except OSError as error:
            return unknown(file, error.strerror or str(error))


def build(
    tree: SourceTree,
    *,
    cache: Path | str | None = "default",
    workers: int | None = None,
    on_progress: Progress | None = None,
) -> Index:
    """The index of a tree; contents that were read before come from the cache (`None`: keep nothing).

    `on_progress` is told (files done, all files) while files are parsed. `workers`: processes, by default one a core.
    """
    store = Store(default_cache() if cache == "default" else Path(cache) if cache is not None else None, EXTRACTOR_VERSION)
    shas = _remembered(tree, store)
    known = _all_known(tree, store, shas)
    if known is not None:
        store.touch(known.number)
        return Index(tree, shas, store, known)
    made = make(tree, store, shas, workers, on_progress)
    return Index(tree, made.shas, store, made, made)


def _remembered(tree: SourceTree, store: Store) -> dict[str, bytes]:
    """The hash of each file that is as it was the last time."""
    before = store.seen(tree.place or tree.root)
    return {file.name: seen[1] for file in tree.files if file.stamp and (seen := before.get(file.name)) and seen[0] == file.stamp}


def _all_known(tree: SourceTree, store: Store, shas: Mapping[str, bytes]) -> _Stored | None:
    if len(shas) != len(tree.files):
        return None
    number = identity(tree, shas)
    problems = store.problems(number)
    return _Stored(store, tree, number, problems) if problems is not None else None


class _Stored:
    """Postings that are looked up in the store; found anew where it is lost meanwhile."""

    def __init__(self, store: Store, tree: SourceTree, number: bytes, problems: tuple[tuple[str, str], ...]) -> None:
        self._store = store
        self._tree = tree
        self._anew: Made | None = None
        self.number = number
        self.problems = problems

    def files(self, name: str) -> Iterable[int]:
        """Numbers of the files in which a name occurs."""
        if self._anew is None:
            try:
                return self._store.files(self.number, name)
            except StoreLostError:
                self._anew = make(self._tree, Store(None, 0), {}, None, None)
        return self._anew.files(name)

    def every(self) -> Iterator[str]:
        """Every name."""
        if self._anew is None:
            try:
                return iter(self._store.names(self.number))
            except StoreLostError:
                self._anew = make(self._tree, Store(None, 0), {}, None, None)
        return self._anew.every()
