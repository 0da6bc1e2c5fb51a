"""The API key, where the server wants one: read from the host into memory, never shown."""

from __future__ import annotations

from ddtree_ops.fleet import places
from ddtree_ops.fleet.spec import ServingSpec
from ddtree_ops.ports import Command, Shell


def bearer(shell: Shell, spec: ServingSpec) -> str | None:
    """The key that requests must carry, or None where the spec has none."""
    if "api_key" not in spec.secrets:
        return None
    return shell.run(Command(("cat", f"{places.CREDENTIALS}/api_key"))).stdout.strip() or None
