"""Ask the server the spec's smoke questions through the tunnel and judge the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ddtree_ops.errors import SmokeFailed
from ddtree_ops.flows import credentials
from ddtree_ops.flows.server import Server
from ddtree_ops.units import smoke
from ddtree_ops.units.smoke import Canary, SmokeResult

REQUEST_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True)
class Smoked:
    """Every canary's result."""

    results: tuple[SmokeResult, ...]

    @property
    def ok(self) -> bool:
        return all(result.ok for result in self.results)

    def check(self, host: str) -> None:
        """Raises SmokeFailed naming the first wrong answer."""
        for result in self.results:
            if result.problem:
                raise SmokeFailed(f"{host}: smoke request {result.prompt!r}: {result.problem}")

    def figures(self) -> Mapping[str, object]:
        """For reports in JSON: no prompts, no answers. Seconds in the order of the questions; None for a wrong answer."""
        return {"seconds": [round(one.seconds, 3) if one.ok else None for one in self.results]}

    def summary(self) -> str:
        """One line for people."""
        first = self.results[0]
        text = " ".join(first.text.split())[:60]
        more = f" (+{len(self.results) - 1} more)" if len(self.results) > 1 else ""
        return f"{first.prompt!r} -> {text!r} in {first.seconds:.2f} s{more}"


def run(server: Server) -> Smoked:
    """Every canary once, in order."""
    bearer = credentials.bearer(server.shell)
    return Smoked(tuple(_ask(server, canary, bearer) for canary in canaries(server)))


def canaries(server: Server) -> tuple[Canary, ...]:
    """The spec's smoke requests, or a default one."""
    own = tuple(Canary(one.prompt, one.expect, one.max_tokens) for one in server.spec.smoke)
    return own or smoke.DEFAULT_CANARIES


def _ask(server: Server, canary: Canary, bearer: str | None) -> SmokeResult:
    request = smoke.request(canary, server.port, REQUEST_TIMEOUT_SECONDS, bearer)
    try:
        return smoke.judge(canary, server.ask(request))
    except TimeoutError as error:
        return SmokeResult(canary.prompt, "", REQUEST_TIMEOUT_SECONDS, 0, None, str(error))
