"""Figures of each stage as Markdown tables; a stage's findings go in, nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Findings = Mapping[str, Any]
TREES = ("ddtree", "schedule")  # how their servers' names begin
PARTS = ("draft", "build", "verify", "commit")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join("" if cell is None else str(cell) for cell in line) + " |" for line in lines)


def train(found: Findings) -> str:
    rows = [
        (
            name,
            found["tokens"][name],
            entry["loss"],
            f"{entry['first_choice']:.1%}",
            f"{entry['near_ties']:.2%}",
            entry["acceptance"],
        )
        for name, entry in found["expected"].items()
    ]
    head = ("text", "tokens", "cross entropy, nats", "is the target's first choice", "near ties", "block right, tokens and bonus")
    return f"{_learned(found, 'target')}; {_learned(found, 'drafter')}.\n\n{table(head, rows)}"


def drafter(found: Findings) -> str:
    rows = [(name, entry["acceptance"]) for name, entry in found["expected"].items()]
    return f"{_learned(found, 'drafter')}.\n\n{table(('text', 'block right, tokens and bonus'), rows)}"


def _learned(found: Findings, name: str) -> str:
    model = found[name]
    return f"{name}: {model['parameters'] / 1e6:.1f} M weights, {model['steps']} steps in {model['seconds']} s"


def baseline(found: Findings) -> str:
    rows = [(name, length, f"{found['same_text'][name]:.0%}") for name, length in found["acceptance"].items()]
    return table(("prompts", "acceptance length of DFLASH", "texts equal to plain decoding's from end to end"), rows)


def lossless(found: Findings) -> str:
    rows = [
        (
            server,
            name,
            entry["prompts"],
            entry["tokens"],
            entry["same_at_once"],
            entry["ties"],
            entry["largest_tie_gap"],
            len(entry["not_ties"]),
        )
        for server, sets in found.items()
        for name, entry in sets.items()
    ]
    head = (
        "server",
        "prompts",
        "texts",
        "tokens compared",
        "equal from end to end",
        "ties",
        "widest tie, nats",
        "differences that aren't ties",
    )
    return table(head, rows)


def acceptance(found: Findings) -> str:
    sets = list(next(iter(found["acceptance"].values())))
    return table(
        ("server", *sets), ((server, *(by_set[name] for name in sets)) for server, by_set in found["acceptance"].items())
    )


def throughput(found: Findings) -> str:
    schedule = (f"`schedule`: budgets {found['schedule']}.",) if "schedule" in found else ()
    speed = found["speed"]
    return "\n\n".join((_speeds(speed), *schedule, _gains(speed), _losses(speed), _split(found["split_us"])))


def _speeds(speed: Findings) -> str:
    rows = [
        (name, server, batch, cell["tokens_per_s"], cell["step_ms"], cell["acceptance"])
        for name, servers in speed.items()
        for server, batches in servers.items()
        for batch, cell in _by_size(batches)
    ]
    return table(("prompts", "server", "batch", "tokens/s", "step, ms", "tokens a step"), rows)


def _gains(speed: Findings) -> str:
    """Trees beside the two others, one line a batch size."""
    rows = []
    for name, servers in speed.items():
        plain, chain = _server(servers, "plain"), _server(servers, "dflash")
        for server, cells in servers.items():
            if not server.startswith(TREES):
                continue
            for batch, cell in _by_size(cells):
                to_plain, to_chain = (_ratio(cell, other, batch, "tokens_per_s") for other in (plain, chain))
                rows.append((name, server, batch, to_plain, to_chain, _ratio(cell, chain, batch, "step_ms")))
    return table(("prompts", "server", "batch", "tokens/s to plain", "to DFLASH", "its step to DFLASH's"), rows)


def _losses(speed: Findings) -> str:
    """Where the tree doesn't pay, in words."""
    slower = []
    for name, servers in speed.items():
        chain, tree = _server(servers, "dflash"), _server(servers, "ddtree")
        for batch, cell in _by_size(tree or {}):
            if chain and cell["tokens_per_s"] < chain[batch]["tokens_per_s"]:
                slower.append(f"{name} at batch {batch} ({_ratio(cell, chain, batch, 'tokens_per_s')})")
    if not slower:
        return "DDTREE with 31 nodes was faster than DFLASH everywhere here."
    return (
        f"DDTREE with 31 nodes was slower than DFLASH on {', '.join(slower)}: there a wider verify pass costs more than "
        "its tokens bring. A budget schedule takes fewer nodes for larger batches."
    )


def _server(servers: Findings, kind: str) -> Findings | None:
    return next((cells for name, cells in servers.items() if name.startswith(kind)), None)


def _ratio(cell: Findings, other: Findings | None, batch: str, figure: str) -> str:
    return f"{cell[figure] / other[batch][figure]:.2f} x" if other else ""


def _split(split: Findings) -> str:
    rows = [
        (name, batch, *(parts[part] for part in PARTS)) if parts else (name, batch, "no data", "", "", "")
        for name, batches in split.items()
        for batch, parts in _by_size(batches)
    ]
    return table(("prompts", "batch", *(f"{part}, us" for part in PARTS)), rows)


def _by_size(batches: Findings) -> list[tuple[str, Any]]:
    """JSON keeps batch sizes as text, where 16 comes before 4."""
    return sorted(batches.items(), key=lambda item: int(item[0]))


def sampling(found: Findings) -> str:
    rows = []
    for kind in ("token", "pair"):
        for label, control in (("DDTREE and plain", False), ("plain and plain (control)", True)):
            chances = [test["chance"] for test in found["tests"] if test["kind"] == kind and ("control" in test) == control]
            low = sum(chance < 0.05 for chance in chances)
            rows.append((kind, label, len(chances), min(chances), f"{low / len(chances):.1%}"))
    return table(("of", "samples compared", "tests", "smallest chance", "below 5 %"), rows)


def builder(found: Findings) -> str:
    batches = [batch for batch, _ in _by_size(next(iter(found["microseconds"].values())))]
    rows = [(budget, *(times[batch] for batch in batches)) for budget, times in _by_size(found["microseconds"])]
    return table(("nodes", *(f"batch {batch}, us" for batch in batches)), rows)


def tp2(found: Findings) -> str:
    rows = [
        (name, entry["tokens"], entry["ties"], len(entry["not_ties"]), entry["acceptance_dflash"], entry["acceptance_ddtree"])
        for name, entry in found.items()
    ]
    return table(("prompts", "tokens compared", "ties", "other differences", "DFLASH accepts", "DDTREE accepts"), rows)


def flat(found: Findings) -> str:
    """Stages with single figures."""
    return table(("figure", "value"), ((name.replace("_", " "), _plain(value)) for name, value in found.items()))


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {one}" for name, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
