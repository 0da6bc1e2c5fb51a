"""The acceptance gate: run a fixed prompt set against the server that serves now, and judge what it did.

Prompts go one after the other: batches of one have the same widths and kernels every time, so that answers can be compared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ddtree_ops.errors import GateInconclusive, GateRefused, ServerDied
from ddtree_ops.fleet.gate_files import read_baseline, read_prompts
from ddtree_ops.fleet.gate_section import Inconclusive
from ddtree_ops.fleet.spec import ServingSpec
from ddtree_ops.flows import credentials
from ddtree_ops.flows.server import Server
from ddtree_ops.ports import HttpRequest
from ddtree_ops.units import gate_answers
from ddtree_ops.units.answers import short
from ddtree_ops.units.gate import Finding, Judgement, Seen, Verdict, Wanted, judge
from ddtree_ops.units.gate_answers import GateAnswer, GatePrompt
from ddtree_ops.units.tree_counters import Counters, Growth, NoGrowth, growth, read_counters

REQUEST_TIMEOUT_SECONDS = 60.0
READ_TIMEOUT_SECONDS = 20.0
MOST_PAGE_BYTES = 8 * 2**20  # of /metrics and /server_info: far more than any server says
HINT = "docs/acceptance-gate.md says what each check means"


@dataclass(frozen=True)
class Gated:
    """How the gate ended. `lost`: the connection broke off while a prompt was answered."""

    judgement: Judgement
    policy: Inconclusive
    lost: bool = False

    @property
    def verdict(self) -> Verdict:
        return self.judgement.verdict

    @property
    def keeps(self) -> bool:
        """Whether the release may be kept."""
        allowed = self.verdict is Verdict.INCONCLUSIVE and self.policy is Inconclusive.WARN
        return allowed or self.verdict in (Verdict.PASSED, Verdict.SKIPPED)

    def check(self, host: str) -> None:
        """Raises ServerDied, GateRefused, or GateInconclusive where the spec's policy is `fail`."""
        if self.keeps:
            return
        reasons = self.judgement.of(self.verdict)
        text = f"{host}: the gate {_said(self.verdict)}: {'; '.join(finding.text for finding in reasons)}"
        evidence = tuple(line for finding in reasons for line in finding.details)
        if self.lost:
            raise ServerDied(text, hint=f"ddtree-ops logs --host {host}", evidence=evidence)
        kind = GateRefused if self.verdict is Verdict.REFUSED else GateInconclusive
        raise kind(text, hint=HINT, evidence=evidence)

    def summary(self) -> str:
        """One line for people."""
        if self.verdict is Verdict.PASSED:
            told = [finding.text for finding in self.judgement.findings if finding.check in ("acceptance", "equality")]
            return "; ".join(told if self.judgement.compared is not None else [*told, "answers not compared: no gate.baseline"])
        words = "; ".join(finding.text for finding in self.judgement.of(self.verdict))
        allowed = " (kept: gate.inconclusive is warn)" if self.verdict is Verdict.INCONCLUSIVE and self.keeps else ""
        return f"{self.verdict}: {words}{allowed}"

    def figures(self) -> Mapping[str, object]:
        """For reports in JSON."""
        judged = self.judgement
        return {
            "verdict": str(self.verdict),
            "acceptance_length": None if judged.acceptance_length is None else round(judged.acceptance_length, 3),
            "least_acceptance_length": None if judged.least_length is None else round(judged.least_length, 3),
            "prompts_equal": judged.equal,
            "prompts_compared": judged.compared,
            "checks": [
                {"check": one.check, "verdict": str(one.verdict), "text": one.text, "details": list(one.details)}
                for one in judged.findings
            ],
        }


@dataclass(frozen=True)
class Run:
    """One run of the prompts. `growth` spans exactly the time of the answers."""

    answers: tuple[GateAnswer, ...]
    growth: Growth | NoGrowth


def run(server: Server) -> Gated:
    """Judge the server that serves now by its spec. Raises Unreachable, InvalidInventory (the gate's files)."""
    spec = server.spec
    if spec.ddtree is None or not spec.gate.enabled:
        why = "gate.enabled is false" if spec.ddtree is not None else "the spec has no ddtree section"
        return Gated(Judgement((Finding("gate", Verdict.SKIPPED, why),)), spec.gate.inconclusive)
    prompts = read_prompts(spec)
    baseline = read_baseline(spec, prompts)
    wanted = Wanted(
        budget=spec.ddtree.budget,
        block_size=spec.ddtree.block_size,
        least_length=spec.gate.min_acceptance_length,
        recording=baseline.recording() if baseline else None,
        recording_factor=spec.gate.baseline_factor,
        prefix_tokens=spec.gate.prefix_tokens,
        least_equal=spec.gate.min_equal,
    )
    bearer = credentials.bearer(server.shell)
    info = server_info(server, bearer)
    done = run_prompts(server, prompts, bearer)
    judged = judge(wanted, Seen(info, done.growth, done.answers, len(prompts)))
    return Gated(judged, spec.gate.inconclusive, any(answer.lost for answer in done.answers))


def longest_seconds(spec: ServingSpec) -> int:
    """How long a gate may take; 0 where there is none. The host must not go back by itself before."""
    return 0 if spec.ddtree is None or not spec.gate.enabled else spec.gate.time_limit


def run_prompts(server: Server, prompts: Sequence[GatePrompt], bearer: str | None) -> Run:
    """Every prompt once, in order, until the spec's time is up or the connection breaks off."""
    deadline = server.clock.monotonic() + server.spec.gate.time_limit
    before = _counters(server, bearer)
    answers: list[GateAnswer] = []
    for prompt in prompts:
        left = deadline - server.clock.monotonic()
        if left <= 0:
            break
        answer = _ask(server, prompt, min(left, REQUEST_TIMEOUT_SECONDS), bearer)
        if answer is None:
            break
        answers.append(answer)
        if answer.lost:
            break
    after = _counters(server, bearer)
    return Run(tuple(answers), _growth(before, after))


def server_info(server: Server, bearer: str | None) -> Mapping[str, object] | str:
    """The document, or why there is none."""
    body = _get(server, "/server_info", bearer)
    if isinstance(body, str):
        return body
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return f"no JSON: {short(body)}"
    return document if isinstance(document, dict) else "no JSON object"


def _ask(server: Server, prompt: GatePrompt, timeout: float, bearer: str | None) -> GateAnswer | None:
    """The answer; None if the gate's own time ended first, which is no fault of the server."""
    request = gate_answers.request(prompt, server.spec.gate.max_tokens, server.port, timeout, bearer)
    try:
        return gate_answers.read(prompt, server.ask(request))
    except TimeoutError as error:
        return gate_answers.failed(prompt, str(error)) if timeout >= REQUEST_TIMEOUT_SECONDS else None


def _counters(server: Server, bearer: str | None) -> Counters | str:
    body = _get(server, "/metrics", bearer)
    return body if isinstance(body, str) else read_counters(body)


def _growth(before: Counters | str, after: Counters | str) -> Growth | NoGrowth:
    for read in (before, after):
        if isinstance(read, str):
            return NoGrowth(f"/metrics: {read}")
    assert isinstance(before, Counters) and isinstance(after, Counters)  # noqa: S101 - for the type checker
    return growth(before, after)


def _get(server: Server, path: str, bearer: str | None) -> bytes | str:
    try:
        response = server.ask(HttpRequest(server.port, path, timeout=READ_TIMEOUT_SECONDS, bearer=bearer))
    except TimeoutError as error:
        return str(error)
    if response.status == 200:
        too_large = f"the page is larger than {MOST_PAGE_BYTES} bytes"
        return too_large if len(response.body) > MOST_PAGE_BYTES else response.body
    return f"HTTP {response.status}" if response.status else response.problem or "nobody answers"


def _said(verdict: Verdict) -> str:
    return "refuses this release" if verdict is Verdict.REFUSED else "can't judge this release"
