"""The way to wait that our readiness is compared with: look every 15 seconds, over ssh, at the unit and at /health."""

from __future__ import annotations

import random
import subprocess
import threading
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

EVERY_SECONDS = 15.0
_LOOK = """
systemctl show --property ActiveState,SubState,NRestarts {unit}
python3 - <<'END'
import urllib.request
try:
    print("health", urllib.request.urlopen("http://127.0.0.1:{port}/health", timeout=5).status)
except OSError as error:
    print("health", getattr(error, "code", 0))
END
"""


class Seen(StrEnum):
    """What a look says."""

    LOADING = "loading"
    READY = "ready"
    DEAD = "dead"


@dataclass(frozen=True)
class Noticed:
    """The end of the wait, on the monotonic clock."""

    seen: Seen
    at: float


def judge(text: str) -> Seen:
    """A unit that systemd has given up, or started again, is dead; a 200 is ready."""
    values = dict(line.replace("=", " ").split(" ", 1) for line in text.splitlines() if line)
    if values.get("ActiveState") == "failed" or values.get("SubState") == "auto-restart" or values.get("NRestarts", "0") != "0":
        return Seen.DEAD
    return Seen.READY if values.get("health") == "200" else Seen.LOADING


class Poller:
    """Polls in a thread until the server is ready or dead. The first look comes at a random time of the first interval."""

    def __init__(self, ssh_config: Path, host: str, unit: str, port: int) -> None:
        self._argv = ("ssh", "-F", str(ssh_config), host, _LOOK.format(unit=unit, port=port))
        self._end = threading.Event()
        self._noticed: Noticed | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def wait(self, limit: float) -> Noticed | None:
        """What was noticed; None after `limit` seconds without news."""
        self._thread.join(limit)
        self._end.set()
        return self._noticed

    def _run(self) -> None:
        pause = random.uniform(0, EVERY_SECONDS)  # noqa: S311 - a phase, no secret
        while not self._end.wait(pause):
            done = subprocess.run(self._argv, capture_output=True, text=True, check=False)
            seen = judge(done.stdout)
            if seen is not Seen.LOADING:
                self._noticed = Noticed(seen, time.monotonic())
                return
            pause = EVERY_SECONDS
