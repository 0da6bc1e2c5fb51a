"""Targets in a file, for a Prometheus that can't reach us by HTTP (prometheus.io/docs, file_sd_config: it watches the file)."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from ddtree_ops.exporter import state_file
from ddtree_ops.exporter.discovery.groups import ALL
from ddtree_ops.exporter.discovery.targets import Discovery

SECONDS = 5.0
_LOG = logging.getLogger(__name__)


def write_targets(discovery: Discovery, path: Path) -> bool:
    """Write what is told now, and say whether the file changed. While nothing could ever be read, a file of before stays.

    Replaced in one step, so that Prometheus never reads a half; the same content is not written again. Raises OSError.
    """
    body = discovery.found().bodies.get(ALL)
    if body is None or _content(path) == body:
        return False
    state_file.replace(path, body, mode=0o644)  # Prometheus is another user
    return True


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


class FileTargets:
    """Keeps the file at `path` as the inventory is, looking every few seconds, until closed."""

    def __init__(self, discovery: Discovery, path: Path, seconds: float = SECONDS) -> None:
        self._discovery = discovery
        self._path = path
        self._seconds = seconds
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="file_sd", daemon=True)

    def start(self) -> None:
        """Write once, raising OSError, so that a path which can't be written shows at once; then go on in a thread."""
        write_targets(self._discovery, self._path)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join(self._seconds + 5)

    def _run(self) -> None:
        before = ""
        while not self._end.wait(self._seconds):
            problem = ""
            try:
                write_targets(self._discovery, self._path)
            except OSError as error:
                problem = error.strerror or type(error).__name__
            except Exception as error:  # noqa: BLE001 - the thread must go on, or the file would silently grow old
                problem = type(error).__name__
            if problem and problem != before:
                _LOG.error("%s: %s; the file stays as it was", self._path, problem)
            before = problem
