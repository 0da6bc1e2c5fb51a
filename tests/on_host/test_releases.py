"""What lies in /opt/ddtree, in whatever state a crash has left it."""

from __future__ import annotations

import json
from pathlib import Path

from ddtree_ops.on_host import releases


def test_nothing_is_there_yet(tmp_path: Path) -> None:
    root = str(tmp_path / "none")
    assert (releases.links(root), releases.manifests(root), releases.leftovers(root)) == ({}, {}, [])
    assert releases.settings(root, "lab-a") is None


def test_links_manifests_and_leftovers(tmp_path: Path) -> None:
    place = tmp_path / "releases"
    for name in ("lab-a", "lab-b", "lab-c", ".staging-lab-d"):
        (place / name).mkdir(parents=True)
    (place / "lab-a" / "manifest.json").write_text(json.dumps({"id": "lab-a", "packages": {"x": "1"}, "records": {}}))
    (place / "lab-b" / "manifest.json").write_text("{ half")
    (place / "lab-a" / "server.json").write_text('{"argv": []}')
    (place / ".lock").touch()
    (place / "link").symlink_to("lab-a")
    (tmp_path / "current").symlink_to("releases/lab-a")
    (tmp_path / "last-good").symlink_to("releases/gone/")
    root = str(tmp_path)
    assert releases.links(root) == {"current": "lab-a", "last-good": "gone"}
    assert releases.manifests(root) == {"lab-a": {"id": "lab-a"}, "lab-b": None, "lab-c": None}
    assert [one["name"] for one in releases.leftovers(root)] == [".staging-lab-d"]
    assert 0 <= releases.leftovers(root)[0]["age"] < 60
    assert releases.settings(root, "lab-a") == {"argv": []}


def test_the_port_of_a_manifest() -> None:
    assert releases.port({"argv": ["--port", "31000"]}) == "31000"
    for odd in (
        None,
        {},
        {"argv": "--port"},
        {"argv": ["--port"]},
        {"argv": ["--port", "1; reboot"]},
        {"argv": ["--port", None]},
        {"argv": ["--port", "\u00b2"]},
        {"argv": ["--port", "9" * 5000]},
    ):
        assert releases.port(odd) is None
