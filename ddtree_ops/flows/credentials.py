"""The API key, where the server wants one: read from the host into memory, never shown."""

from __future__ import annotations

from ddtree_ops.fleet import places
from ddtree_ops.ports import Command, Shell


def bearer(shell: Shell) -> str | None:
    """The key that requests must carry, or None if the current release has none.

    The host is asked, not the spec: after a way back the release that serves may have been made of another spec.
    """
    read = Command(("cat", f"{places.CREDENTIALS}/api_key"), ok=frozenset({0, 1}))
    return shell.run(read).stdout.strip() or None
