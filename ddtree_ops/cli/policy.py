"""From options to the rules of a rollout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ddtree_ops.cli.options import RolloutValue
from ddtree_ops.errors import UsageError
from ddtree_ops.flows.schedule import Policy, parse_batches

if TYPE_CHECKING:
    from ddtree_ops.fleet.inventory import Host


def policy(hosts: Sequence[Host], **values: RolloutValue) -> Policy:
    """The options of options.rollout. Raises UsageError."""
    canary, serial = values["canary"], values["serial"]
    if canary is not None and canary not in {host.name for host in hosts}:
        raise UsageError(f"--canary {canary} is none of the chosen hosts", hint=", ".join(host.name for host in hosts))
    if canary is not None and values["no_canary"]:
        raise UsageError("give --canary HOST or --no-canary, not both")
    return Policy(
        forks=int(values["forks"] or 1),
        batches=None if serial is None else parse_batches(str(serial)),
        canary_first=not values["no_canary"],
        canary=None if canary is None else str(canary),
        max_failures=int(values["max_failures"] or 1),
    )
