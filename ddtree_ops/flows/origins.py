"""Triage asks the source for the parameters behind a failure's numbers: bounded in time, and no reason for a report to fail.

A tree that was read before answers at once. One that wasn't is read within a deadline and with a word on what goes on;
where that isn't enough, or anything goes wrong, the report says so and is the same otherwise.
"""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from ddtree_ops.errors import DdtreeOpsError, HostCommandFailed, Refused
from ddtree_ops.fleet import places
from ddtree_ops.ports import Command
from ddtree_ops.report.safe_text import one_line
from ddtree_ops.triage.model import Event
from ddtree_ops.triage.origins import UNTRACED
from ddtree_ops.triage.source_windows import candidates

if TYPE_CHECKING:
    from ddtree_ops.ports import Shell
    from ddtree_ops.report.failure import FailureReport
    from ddtree_ops.runtime.source.model import SourceFile, SourceTree
    from ddtree_ops.triage.model import Failure
    from ddtree_ops.triage.origins.answer import Answer

#: How long a report waits for the source, in seconds: an index of SGLang 0.5.23 that has to be made takes 8 s on two cores.
TREE_SECONDS, HOST_SECONDS, FOLLOW_SECONDS = 40.0, 12.0, 3.0
_ENGINES = frozenset({"sglang", "vllm", "sgl_kernel"})
_PLUGIN_FILES, _PLUGIN_BYTES = 200, 1 << 20

# The log names the files, and logs are hostile.
_RELEASE = re.compile(re.escape(places.RELEASES) + r"/(?P<id>\w[\w.-]{0,99})/")

Tell = Callable[[str], None]


def from_tree(report: FailureReport, path: Path, tell: Tell, seconds: float = TREE_SECONDS) -> FailureReport:
    """The report with what a source tree says of its numbers. `tell` gets a line where that takes a while."""

    def open_it() -> SourceTree:
        from ddtree_ops.runtime.source.tree import open_tree

        return open_tree(path)

    return _with_origins(report, open_it, tell, _Wait(seconds, f"--source {quote(str(path))}"))


def from_host(report: FailureReport, shell: Shell, tell: Tell) -> FailureReport:
    """The report with what the release that its frames are of, on the host, says of its numbers."""

    def open_it() -> SourceTree:
        release = release_of(report, shell)
        from ddtree_ops.flows.release_source import staged

        return staged(shell, release)

    return _with_origins(report, open_it, tell, _Wait(HOST_SECONDS, f"--host {shell.host}"))


def release_of(report: FailureReport, shell: Shell) -> str:
    """The release that the root's frames name, else the current one. Raises Refused where there is none."""
    files = [frame.file for item in (report.root.exceptions if report.root else ()) for frame in item.frames]
    named = next((found["id"] for file in reversed(files) if (found := _RELEASE.match(file))), None)
    if named:
        return named
    link = shell.run(Command(("readlink", "--", f"{places.ROOT}/current"), ok=frozenset({0, 1}))).stdout.strip()
    current = _RELEASE.match(f"{places.ROOT}/{link}/") or _RELEASE.match(f"{link}/")
    if current is None:
        raise Refused(f"{shell.host} has no current release")
    return current["id"]


@dataclass(frozen=True, slots=True)
class _Wait:
    """How long, in seconds, and how `params trace` is told the same source."""

    seconds: float
    source: str


class _TooLateError(Exception):
    """The report doesn't wait for it any longer."""


def _with_origins(report: FailureReport, open_it: Callable[[], SourceTree], tell: Tell, wait: _Wait) -> FailureReport:
    root = report.root
    if root is None or not root.numbers or not root.exceptions:
        return report
    stop = threading.Event()
    try:
        answer = _within(wait.seconds, stop, lambda: _ask(root, open_it(), tell, stop))
    except _TooLateError:
        return _untraced(report, f"the source wasn't read within {wait.seconds:g} s", wait)
    except HostCommandFailed as error:  # its message quotes the whole program that was sent
        return _untraced(report, f"reading it on the host {one_line(str(error).rpartition('` ')[2], 200)}", wait)
    except (DdtreeOpsError, OSError) as error:
        return _untraced(report, one_line(str(error), 200), wait)
    except Exception as error:  # noqa: BLE001 - the diagnosis is what was asked for; this is only beside it
        return _untraced(report, f"{type(error).__name__}: {one_line(str(error), 200)}", wait)
    failures = tuple(answer.failure if item is root else item for item in report.failures)
    return replace(report, failures=failures, events=(*report.events, *answer.events))


def _within(seconds: float, stop: threading.Event, work: Callable[[], Answer]) -> Answer:
    """Its result. Raises what it raises, and `_TooLateError` after `seconds`; `stop` is set then, and the work left alone."""
    done: queue.Queue[Answer | Exception] = queue.Queue()

    def run() -> None:
        try:
            done.put(work())
        except Exception as error:  # noqa: BLE001 - raised again by the waiting thread
            done.put(error)

    threading.Thread(target=run, daemon=True, name="origins").start()
    try:
        result = done.get(timeout=seconds)
    except queue.Empty:
        raise _TooLateError from None
    finally:
        stop.set()
    if isinstance(result, Exception):
        raise result
    return result


def _ask(root: Failure, tree: SourceTree, tell: Tell, stop: threading.Event) -> Answer:
    from ddtree_ops.runtime.source.index import build
    from ddtree_ops.runtime.trace import trace
    from ddtree_ops.triage.origins.answer import answer

    told = False

    def on_progress(_: int, total: int) -> None:
        nonlocal told
        if stop.is_set():
            raise _TooLateError
        if not told and total:
            told = True
            tell(f"reading {total:,} source files, once, to follow the parameters behind the numbers")

    index = build(tree, on_progress=on_progress)

    def ask(name: str, to: str | None) -> dict[str, object]:
        if stop.is_set():
            raise _TooLateError
        try:
            return trace(index, name, to).as_data()
        except DdtreeOpsError as error:
            raise LookupError(str(error)) from error

    return answer(root, ask, _finder(tree), tuple(_plugins(tree)))


def _finder(tree: SourceTree) -> Callable[[str], tuple[str, bytes] | None]:
    """A frame's file among the tree's: its name, which is log text, is only looked up, never opened."""
    by_name = {file.name: file for file in tree.files}

    def find(name: str) -> tuple[str, bytes] | None:
        for tail in candidates(name):
            if tail in by_name:
                return tail, by_name[tail].read()
        return None

    return find


def _plugins(tree: SourceTree) -> Iterator[tuple[str, bytes]]:
    """The files of packages beside the engine; none where the tree is the engine itself, whose folders look like packages."""
    beside = [file for file in tree.files if not _ENGINES & set(file.name.split("/"))]
    if len(beside) in range(1, min(_PLUGIN_FILES, len(tree.files))):
        yield from ((file.name, content) for file in beside if (content := _small(file)) is not None)


def _small(file: SourceFile) -> bytes | None:
    content = file.read()
    return content if len(content) <= _PLUGIN_BYTES else None


def _untraced(report: FailureReport, why: str, wait: _Wait) -> FailureReport:
    names = [item.parameter for item in (report.root.numbers if report.root else ()) if item.parameter]
    command = f"; ddtree-ops params trace {names[0]} {wait.source} follows them" if names else ""
    return replace(
        report, events=(*report.events, Event(None, UNTRACED, f"the numbers' parameters weren't followed: {why}{command}"))
    )
