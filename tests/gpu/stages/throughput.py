"""Stage `throughput` (c): tokens/s and step time of plain, DFLASH and DDTREE by batch size, and where DDTREE's step goes.

All servers stand on the card at once and are measured in turn, round by round, so that clocks and heat hit all alike; an idle
server runs nothing on the card. CUDA graphs are on for all of them.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tests.gpu.results import Verdict
from tests.gpu.server import Servers, ServerSpec, ddtree, dflash
from tests.gpu.stage import Found, Options
from tests.gpu.step_times import read_metrics, step_split
from tests.gpu.timing import Speed, measure, median
from tests.gpu.training.prompts import load_prompts

BATCHES = (1, 4, 16, 48)
ROUNDS = 3
BUDGET = 31
STEP_LIMIT = 1.25


def needs(options: Options) -> tuple[ServerSpec, ...]:
    timed = ddtree(options.models, BUDGET, SGLANG_DDTREE_STEP_TIMES="1")
    return ServerSpec("plain"), dflash(options.models), ddtree(options.models, BUDGET), timed


def run(options: Options, servers: Servers) -> Found:
    """Three rounds a cell after one that warms up; the median counts. The split is taken from a server of its own."""
    sets = load_prompts(options.models / "prompts.json")
    chosen = {name: sets[name] for name in ("seen", "unseen")}
    return measure_all(servers, [spec.name for spec in needs(options)], chosen, ROUNDS)


def measure_all(servers: Servers, names: list[str], sets: dict[str, list[list[int]]], repeats: int) -> Found:
    """`names`: plain, chain, tree, further ones that are measured alike, and last the tree that times its steps."""
    speeds: dict[str, Any] = {}
    split: dict[str, Any] = {}
    for name, prompts in sets.items():
        for batch in BATCHES:
            asked = prompts[:batch] if batch > 1 else prompts[5:6]
            for server, speed in _cell(servers, names[:-1], asked, repeats).items():
                speeds.setdefault(name, {}).setdefault(server, {})[str(batch)] = asdict(speed)
            split.setdefault(name, {})[str(batch)] = _split(servers, names[-1], asked)
    return Found({"speed": speeds, "split_us": split}, tuple(_verdicts(speeds, names)))


def _cell(servers: Servers, names: list[str], prompts: list[list[int]], repeats: int) -> dict[str, Speed]:
    rounds: dict[str, list[Speed]] = {name: [] for name in names}
    for number in range(repeats + 1):
        for name in names:
            speed = measure(servers.client(name), prompts)
            if number:
                rounds[name].append(speed)
    return {name: median(speeds) for name, speeds in rounds.items()}


def _split(servers: Servers, name: str, prompts: list[list[int]]) -> dict[str, float] | None:
    client = servers.client(name)
    measure(client, prompts)
    before = read_metrics(client.text("/metrics"))
    measure(client, prompts)
    return step_split(before, read_metrics(client.text("/metrics")))


def _verdicts(speeds: dict[str, Any], names: list[str]) -> list[Verdict]:
    verdicts = []
    _, chain, tree = names[:3]
    for name, by_server in speeds.items():
        ratio = by_server[tree]["1"]["step_ms"] / by_server[chain]["1"]["step_ms"]
        verdicts.append(Verdict(f"{name}: step time at batch 1 at most 1.25 x DFLASH's", ratio <= STEP_LIMIT, f"{ratio:.2f} x"))
    return verdicts
