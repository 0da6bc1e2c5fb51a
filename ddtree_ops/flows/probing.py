"""The probe of `plan --probe`: the only part of a plan that loads the GPUs."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from ddtree_ops.errors import HostTimedOut
from ddtree_ops.fleet import preflight, probe, waivers
from ddtree_ops.fleet.finding import Finding, Severity
from ddtree_ops.fleet.plan import Plan
from ddtree_ops.ports import Shell
from ddtree_ops.units.systemctl import Active


def probed(shell: Shell, plan: Plan, today: date) -> Plan:
    """The plan with what the probe found, or why it wasn't run. Raises Unreachable."""
    why_not = _obstacle(plan)
    found = (_not_run(*why_not),) if why_not else _probe(shell, plan)
    judged = waivers.apply(found, plan.release.spec.waivers, today)
    return replace(plan, findings=(*plan.findings, *(one for one in judged if one.id != waivers.UNUSED)))


def _obstacle(plan: Plan) -> tuple[str, str] | None:
    if not plan.is_staged:
        return f"{plan.release.id} isn't staged on the host", "deploy once; a refused or failed deploy leaves the release there"
    if plan.state.unit.active not in (Active.INACTIVE, Active.FAILED):
        return "the server's unit has the GPUs", f"ddtree-ops stop --host {plan.host}, and probe then"
    return None


def _not_run(why: str, fix: str) -> Finding:
    return Finding("probe_not_run", Severity.WARNING, f"the probe wasn't run: {why}", fix)


def _probe(shell: Shell, plan: Plan) -> tuple[Finding, ...]:
    try:
        done = shell.run(probe.command(plan.release))
    except HostTimedOut:
        text = "the probe did not end in time, not even when its parts were killed"
        return (Finding("p2p_functional", Severity.ERROR, text, "look at the kernel log for Xids, and reboot the host"),)
    problem = None if done.exit_code == 0 else f"exit code {done.exit_code}: {done.stderr[-300:]}"
    return preflight.parse(done.stdout, problem)
