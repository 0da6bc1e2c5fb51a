"""Where things are on a host, and whose. The roles say the same in their vars/; a test holds the two together."""

from __future__ import annotations

from typing import Final

ROOT: Final = "/opt/ddtree"
RELEASES: Final = f"{ROOT}/releases"
# The current release's own; each release has its own.
CREDENTIALS: Final = f"{ROOT}/current/credentials"
STATE: Final = "/var/lib/ddtree"
BOOTS: Final = f"{STATE}/boots"
# Which files of models were good when they were last read.
MODELS: Final = f"{STATE}/models"
AUDIT: Final = f"{STATE}/audit.jsonl"
# The dead-man: its timer goes back to the last good release unless a deploy is committed. The file is there until then.
DEAD_MAN: Final = f"{STATE}/deadman.json"
DEAD_MAN_TIMER: Final = "ddtree-deadman.timer"
# The user that runs the server.
SERVICE_USER: Final = "ddtree"
