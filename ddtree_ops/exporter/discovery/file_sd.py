"""Targets in a file, for a Prometheus that can't reach us by HTTP (prometheus.io/docs, file_sd_config: it watches the file)."""

from __future__ import annotations

from pathlib import Path

from ddtree_ops.exporter import state_file
from ddtree_ops.exporter.discovery.groups import ALL
from ddtree_ops.exporter.discovery.targets import Discovery
from ddtree_ops.exporter.repeating import Repeating

SECONDS = 5.0


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


def following(discovery: Discovery, path: Path, seconds: float = SECONDS) -> Repeating:
    """What keeps the file as the inventory is. A path that can't be written shows at its start, as OSError."""
    return Repeating(lambda: write_targets(discovery, path), seconds, "targets", f"{path} stays as it was")
