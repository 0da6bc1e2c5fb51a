"""How long `ddtree-ops params` takes on a whole SGLang, cold and warm, against what others do with it: run by hand.

    python -m tests.runtime.versions 0.5.13.post1     # once: fetches the tree
    python -m benchmarks.params                       # writes benchmarks/results/params.json
    python -m benchmarks.params --tree .venv          # another tree

Wall time and CPU time of whole commands, and of their children. Cold: with an empty cache each time. Commands take turns. Peers
in the same run: bare `ast.parse` of the same files, `grep -rn` for the name, and jedi's find-references, whose own cache is
warm from the round that isn't counted; neither of the latter two follows a value.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import contestants, machine, peer_tools, results
from benchmarks.contestants import HERE, OURS
from benchmarks.results import tell
from benchmarks.spread import spread
from benchmarks.timing import Timed, timed
from ddtree_ops.runtime.source.tree import open_tree
from tests.runtime import versions

NAME, TARGET = "speculative_num_draft_tokens", "num_tokens_per_bs"
DECLARED = "sglang/srt/server_args.py"
COLD = "params trace, cold"
_PATIENCE = 600.0


@dataclass(frozen=True)
class Entry:
    """One command; `what` is how the table calls it. `cold`: nothing is kept from before. `often`: it is quick."""

    what: str
    argv: tuple[str, ...]
    cold: bool = False
    often: bool = True
    ok: frozenset[int] = frozenset({0})


def entries(tree: Path, files: Path, other: Path | None, venv: Path) -> tuple[Entry, ...]:
    """Ours and what they are compared with."""
    source = ("--source", str(tree))
    trace = (OURS, "params", "trace", NAME, *source, "--format", "json")
    diff = (Entry("params diff", (OURS, "params", "diff", str(other), str(tree)), ok=frozenset({0, 6})),) if other else ()
    return (
        Entry("ast.parse of every file", (sys.executable, str(HERE / "parse_all.py"), str(files)), often=False),
        Entry("grep -rn", ("grep", "-rn", "--include=*.py", NAME, str(tree))),
        Entry(
            "jedi, find references",
            (str(venv / "bin/python"), str(HERE / "references.py"), str(tree), DECLARED, NAME),
            often=False,
        ),
        Entry(COLD, trace, cold=True, often=False),
        Entry("params trace", trace),
        Entry("params trace --to", (*trace, "--to", TARGET)),
        Entry("params trace --to, narrowed", (*trace, "--to", f"cuda_graph_runner.py:{TARGET}")),
        Entry("params list", (OURS, "params", "list", *source)),
        *diff,
    )


def listed(tree: Path, scratch: Path) -> Path:
    """The files that we index, so that bare parsing has the same to do."""
    path = scratch / "files.txt"
    path.write_text("".join(f"{file.path}\n" for file in open_tree(tree).files))
    return path


def measure(found: Sequence[Entry], repeat: int, cache: Path) -> list[dict[str, Any]]:
    """Rounds over all commands; the first isn't counted. Raises WrongWork."""
    runs: dict[str, list[Timed]] = {entry.what: [] for entry in found}
    for number in range(repeat + 1):
        for entry in found:
            if not entry.often and number > max(1, repeat // 3):
                continue
            done = _run(entry, cache)
            if number:
                runs[entry.what].append(done)
    return [row(what, done) for what, done in runs.items()]


def _run(entry: Entry, cache: Path) -> Timed:
    folder = cache / "cold" if entry.cold else cache / "warm"
    if entry.cold:
        shutil.rmtree(folder, ignore_errors=True)
    done = timed(entry.argv, {"XDG_CACHE_HOME": str(folder)}, _PATIENCE)
    if done.code not in entry.ok or not done.output.strip():
        raise contestants.WrongWork(f"{entry.what}: exit code {done.code}\n{done.output[-500:]}{done.errors[-2000:]}")
    return done


def row(what: str, runs: Sequence[Timed]) -> dict[str, Any]:
    """One line of the table."""
    wall, cpu = spread([run.wall for run in runs]), spread([run.cpu for run in runs])
    peak = max(run.peak_mib for run in runs)
    tell(f"  {what:28} {wall.median:7.3f} s ({wall.least:.3f} to {wall.greatest:.3f})   cpu {cpu.median:.3f}   {peak:.0f} MiB")
    return {"what": what, "wall": wall.to_data(), "cpu": cpu.to_data(), "peak_mib": peak}


def size(tree: Path) -> Mapping[str, Any]:
    """How much was read."""
    opened = open_tree(tree)
    contents = [file.read() for file in opened.files]
    return {
        "version": opened.version,
        "files": len(contents),
        "lines": sum(content.count(b"\n") for content in contents),
        "bytes": sum(map(len, contents)),
    }


def main() -> None:
    """Measure, write."""
    parser = argparse.ArgumentParser(description="how long params takes on a whole SGLang")
    parser.add_argument("--tree", type=Path, default=versions.folder() / "0.5.13.post1")
    parser.add_argument("--other", type=Path, help="another tree, for params diff")
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--out", type=Path, default=results.FOLDER / "params.json")
    asked = parser.parse_args()
    here = machine.describe()
    venv = peer_tools.environment()
    here["versions"] |= peer_tools.versions(venv)
    machine.show(here, tell)
    with tempfile.TemporaryDirectory() as scratch:
        tree, folder = asked.tree.resolve(), Path(scratch)
        rows = measure(entries(tree, listed(tree, folder), asked.other, venv), asked.repeat, folder)
    results.write(asked.out, "params", here, tree=size(asked.tree), commands=rows)


if __name__ == "__main__":
    main()
