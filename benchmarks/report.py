"""Write docs/benchmarks.md from benchmarks/results: python -m benchmarks.report, or `make docs`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.contestants import TOOLS
from benchmarks.goals import GOALS
from benchmarks.spread import from_data

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
HEAD = """\
# Benchmarks

This page is generated (`make docs`) from `benchmarks/results`. What is compared, and how, stands at the top of
`benchmarks/{converge,readiness,cli,params}.py`; the peers' work, written as one would write it by hand, in `benchmarks/peers`.
Figures are medians (least to greatest); hosts are lab hosts on the same
machine and share its cores with the controller.
"""
SCENARIOS = {
    "noop": "No-op: nothing changed; the peers do 20 checks. Seconds of the whole command",
    "changed": "Changed argument: the peers do it in 20 tasks. Seconds up to the moment when the old server is told to end",
    "first": "First deploy on a bare host. Seconds up to the start of the unit",
}
STORIES = {
    "ready": "ready",
    "crash_loading": "crash while loading, all ranks",
    "crash_warmup": "8-against-33 crash in the warm-up, all ranks",
    "crash_waiting": "one rank raises, SGLang waits before it exits",
    "stall": "stall: all ranks hang in the weights",
    "silent": "ready, after a silent graph capture (no stall was told)",
}


def page(documents: Mapping[str, Any]) -> str:
    """The whole document, from results by their names."""
    if not documents:
        return HEAD + "\nNothing has been measured yet.\n"
    return "\n".join(
        (
            HEAD,
            *_machines(documents),
            *_goals(documents),
            *_converge(documents),
            *_readiness(documents),
            *_cli(documents),
            *_params(documents),
        )
    )


def load(folder: Path = results.FOLDER) -> dict[str, Any]:
    """All results of a folder by their names."""
    return {path.stem: results.read(path) for path in sorted(folder.glob("*.json"))}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """In Markdown, with an empty line behind it."""
    lines = [tuple(head), ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def seconds(data: Mapping[str, Any]) -> str:
    """`1.52 (1.50 to 1.61)`."""
    one = from_data(dict(data))
    return f"{one.median:.2f}" if one.count == 1 else f"{one.median:.2f} ({one.least:.2f} to {one.greatest:.2f})"


def _machines(documents: Mapping[str, Any]) -> Iterator[str]:
    keys = ("at", "cpu", "cores", "memory_gib", "kernel", "python", "load", "commit")
    yield "## Machine and versions\n"
    yield table(("benchmark", *keys), ((name, *(str(one["machine"][key]) for key in keys)) for name, one in documents.items()))
    versions: dict[str, str] = {}
    for one in documents.values():
        versions |= one["machine"]["versions"]
    yield ", ".join(f"{name} {version}" for name, version in sorted(versions.items())) + "\n"


def _goals(documents: Mapping[str, Any]) -> Iterator[str]:
    yield "## Goals\n"
    yield table(("goal", "wanted", "measured", ""), (_goal(goal, documents) for goal in GOALS))


def _goal(goal: Any, documents: Mapping[str, Any]) -> tuple[str, ...]:
    value = goal.read(documents)
    wanted = f"{'at least' if goal.at_least else 'below'} {goal.limit:g} {goal.unit}"
    if value is None:
        return (goal.what, wanted, "not measured", "")
    return (goal.what, wanted, f"{value:.2f}", "reached" if goal.reached(value) else "**missed**")


def _converge(documents: Mapping[str, Any]) -> Iterator[str]:
    cases = [case for name in ("converge", "converge-30") for case in documents.get(name, {}).get("cases", ())]
    for scenario, title in SCENARIOS.items():
        found = sorted(
            (case for case in cases if case["scenario"] == scenario), key=lambda case: (case["round_trip_ms"], case["hosts"])
        )
        if found:
            yield f"## {title}\n"
            yield table(("", *map(_column, found)), _tool_rows(found))
            delays = sorted({case["delay"] for case in found} - {"none"})
            if delays:
                yield f"Round trips by {', '.join(delays)}.\n"


def _column(case: Mapping[str, Any]) -> str:
    hosts = f"{case['hosts']} host{'s' if case['hosts'] > 1 else ''}"
    return f"{hosts}, {case['round_trip_ms']} ms" if case["round_trip_ms"] else hosts


def _tool_rows(cases: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    for tool in TOOLS:
        if any(tool.name in case["tools"] for case in cases):
            yield (tool.title, *(_cell(case["tools"], tool.name) for case in cases))


def _cell(tools: Mapping[str, Any], name: str) -> str:
    """The time, and how many times ours fits into it."""
    if name not in tools:
        return ""
    text = seconds(tools[name]["seconds"])
    if name == "ours" or "ours" not in tools:
        return f"{text}, {tools[name]['peak_mib']:.0f} MiB" if tools[name]["peak_mib"] else text
    return f"{text}, **{tools[name]['seconds']['median'] / tools['ours']['seconds']['median']:.1f}x**"


def _readiness(documents: Mapping[str, Any]) -> Iterator[str]:
    document = documents.get("readiness")
    if document:
        every, after = document["poll_every"], document["stall_after"]
        yield f"## How late the verdict is, in seconds, against a poller every {every:.0f} s\n"
        rows = (
            (STORIES[row["story"]], seconds(row["late"]), str(row["late"]["n"]), seconds(row["poller"]) if row["poller"] else "")
            for row in document["stories"]
        )
        yield table(("story", "ddtree-ops", "runs", "poller"), rows)
        silent = [row["silence"] for row in document["stories"] if row["story"] == "silent"]
        yield (
            f"`stall_after` was {after} s"
            + "".join(f"; the silent capture's longest pause was {pause:.0f} s" for pause in silent)
            + ".\n"
        )


def _cli(documents: Mapping[str, Any]) -> Iterator[str]:
    document = documents.get("cli")
    if document:
        yield "## Commands, from start to end\n"
        rows = ((f"`{row['what']}`", seconds(row["wall"]), f"{row['cpu']['median']:.2f}") for row in document["commands"])
        yield table(("command", "seconds", "CPU seconds"), rows)


def _params(documents: Mapping[str, Any]) -> Iterator[str]:
    document = documents.get("params")
    if document:
        tree = document["tree"]
        yield f"## A parameter in SGLang {tree['version']}: {tree['files']:,} files, {tree['lines']:,} lines\n"
        least = next(row["cpu"]["median"] for row in document["commands"] if row["what"].startswith("ast.parse"))
        rows = (
            (row["what"], seconds(row["wall"]), f"{row['cpu']['median']:.2f}", f"{row['cpu']['median'] / least:.2f}")
            for row in document["commands"]
        )
        yield table(("command", "seconds", "CPU seconds", "times ast.parse"), rows)
        yield "`grep` and jedi find where the name stands; neither follows its value. Parsing uses one core, a cold index all.\n"


def main() -> None:
    """Replace the page."""
    PAGE.write_text(page(load()))


if __name__ == "__main__":
    main()
