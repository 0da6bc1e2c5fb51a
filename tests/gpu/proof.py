"""The GPU proof: `python3 -m tests.gpu.proof STAGE... --out DIR --models DIR`; see docs/ddtree-proof.md.

Not a part of `make test`: run by hand on a machine with a GPU and SGLang, from the project's root. Every stage writes one JSON
file and takes less than eight minutes; stages named together share their servers. Exit 1 if a verdict is wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from tests.gpu.client import NoAnswer
from tests.gpu.machine import describe_machine
from tests.gpu.results import Result, Verdict, write_result
from tests.gpu.server import ServerDied, Servers
from tests.gpu.stage import Found, Options, Stage

MARKS = {True: "ok   ", False: "WRONG", None: "?    "}
STAGES = (
    "train",
    "drafter",
    "baseline",
    "lossless",
    "acceptance",
    "sampling",
    "throughput",
    "throughput_8b",
    "story",
    "tp2",
    "load",
    "retraction",
    "builder",
)


def main() -> int:
    options, stages = _arguments()
    wrong = 0
    with Servers(options.models, options.out / "logs") as servers:
        modules: list[Stage] = [import_module(f"tests.gpu.stages.{stage}") for stage in stages]
        died: dict[str, str] = {}
        for name, module in zip(stages, modules, strict=True):
            if module.needs(options) and not servers.running:  # not before: training stages come first, and need no server
                died = servers.start(*(spec for each in modules for spec in each.needs(options)))
            wrong += _run(name, module, options, servers, died)
    return 1 if wrong else 0


def _run(name: str, module: Stage, options: Options, servers: Servers, died: dict[str, str]) -> int:
    """Run a stage and write its result, also when it broke off: a lease is too short to lose the others' results."""
    start, date = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    missing = [died[spec.name] for spec in module.needs(options) if spec.name in died and not spec.may_die]
    try:
        found = _broken("; ".join(missing)) if missing else module.run(options, servers)
    except (NoAnswer, ServerDied) as error:
        found = _broken(f"{error}; servers that died: {[one for one, server in servers.running.items() if not server.alive()]}")
    ready = {one: server.ready_after_s for one, server in servers.running.items()}
    result = Result(
        stage=name,
        date=date,
        seconds=round(time.monotonic() - start, 1),
        machine=describe_machine(),
        arguments={"budgets": list(options.budgets), "servers_ready_after_s": ready},
        findings=found.findings,
        verdicts=found.verdicts,
    )
    path = write_result(result, options.out)
    for verdict in found.verdicts:
        print(
            {True: "ok   ", False: "WRONG", None: "?    "}[verdict.right], f"{name}: {verdict.claim}: {verdict.seen}", flush=True
        )
    print(f"{path}: {result.seconds} s", flush=True)
    return sum(verdict.right is False for verdict in found.verdicts)


def _broken(why: str) -> Found:
    return Found({}, (Verdict("the stage ran to its end", False, why[-1500:]),))


def _arguments() -> tuple[Options, list[str]]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stages", nargs="+", choices=STAGES, metavar="STAGE")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--budgets", default="7,15,31,63")
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--device", default="cuda")
    given = parser.parse_args()
    budgets = tuple(int(budget) for budget in given.budgets.split(","))
    return Options(given.out, given.models, budgets, given.seconds, given.device), given.stages


if __name__ == "__main__":
    sys.exit(main())
