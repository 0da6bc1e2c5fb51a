"""The environment that the server process gets."""

from __future__ import annotations

from pathlib import Path

from sglang_ddtree.environment import server_environment
from sglang_ddtree.server_config import FILE_NAME, load
from tests.launcher.host import make_release, server_json


def _path(directory: Path, base: dict[str, str], **environment: str) -> list[str]:
    release = make_release(directory, server_json(30000, environment=environment))
    once = server_environment(load(release / FILE_NAME), release, base)
    again = server_environment(load(release / FILE_NAME), release, once)  # the launcher's, then the server's own
    assert again["PATH"] == once["PATH"]
    return once["PATH"].split(":")


def test_the_release_s_programs_come_first(tmp_path: Path) -> None:
    """FlashInfer calls `ninja` by its name."""
    found = _path(tmp_path, {"PATH": "/usr/bin:/bin"})
    assert found == [f"{tmp_path.resolve()}/releases/r1/venv/bin", "/usr/bin", "/bin"]


def test_a_path_of_the_spec_is_taken_as_it_is(tmp_path: Path) -> None:
    assert _path(tmp_path, {"PATH": "/usr/bin"}, PATH="/opt/tools/bin") == ["/opt/tools/bin"]
