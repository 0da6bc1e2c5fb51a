"""Record what a serving host answers to the gate's prompts: the baseline that later releases are compared with."""

from __future__ import annotations

from datetime import UTC, datetime

from ddtree_ops.errors import DdtreeOpsError, GateInconclusive
from ddtree_ops.fleet.gate_files import Baseline, BaselineAnswer, digest, read_prompts
from ddtree_ops.flows import credentials
from ddtree_ops.flows.gate import Run, run_prompts, server_info
from ddtree_ops.flows.look import look
from ddtree_ops.flows.server import Server
from ddtree_ops.units.gate_answers import own_work, steady


def record(server: Server) -> Baseline:
    """Ask every prompt twice. Best done with plain decoding or DFLASH serving, and without other clients.

    Raises GateInconclusive if a prompt got no sound answer or the time ran out; a partial baseline is never made.
    """
    prompts = read_prompts(server.spec)
    bearer = credentials.bearer(server.shell)
    info = server_info(server, bearer)
    if isinstance(info, str):
        raise DdtreeOpsError(f"{server.shell.host}: /server_info: {info}", hint=f"ddtree-ops status --host {server.shell.host}")
    first = _whole(server, run_prompts(server, prompts, bearer), len(prompts))
    second = _whole(server, run_prompts(server, prompts, bearer), len(prompts))
    algorithm = info.get("speculative_algorithm")
    return Baseline(
        recorded=datetime.now(UTC).isoformat(timespec="seconds"),
        host=server.shell.host,
        release=look(server.shell, server.port).serving,
        model=server.spec.model.path,
        version=_text(info.get("version")),
        algorithm=_text(algorithm),
        prompts_sha256=digest(prompts),
        max_tokens=server.spec.gate.max_tokens,
        acceptance_length=own_work(first.answers).acceptance_length if algorithm else None,
        answers=[
            BaselineAnswer(
                prompt=one.prompt,
                text=one.text,
                token_ids=None if one.token_ids is None or two.token_ids is None else list(one.token_ids),
                steady=steady(one, two),
            )
            for one, two in zip(first.answers, second.answers, strict=True)
        ],
    )


def _whole(server: Server, done: Run, asked: int) -> Run:
    wrong = next((answer for answer in done.answers if answer.problem), None)
    host = server.shell.host
    if wrong is not None:
        raise GateInconclusive(f"{host}: nothing is recorded: {wrong.prompt}: {wrong.problem}")
    if len(done.answers) < asked:
        text = f"nothing is recorded: the time ran out after {len(done.answers)} of {asked} prompts"
        raise GateInconclusive(f"{host}: {text}", hint="ddtree_serving.gate.time_limit")
    return done


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
