"""A release's files against its list: real files, changed as people and accidents change them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ddtree_ops.on_host import files

RELEASE = "lab-a"


def listed(root: Path) -> Path:
    """A release of a few files with its list, as staging writes it."""
    root.chmod(0o755)
    place = root / "releases" / RELEASE
    (place / "venv" / "lib" / "__pycache__").mkdir(parents=True)
    (place / "credentials").mkdir()
    for name in ("venv/lib/a.py", "venv/lib/b.py", "server.json", "credentials/api_key"):
        (place / name).write_text(name)
    (place / "venv" / "python").symlink_to("/usr/bin/python3")
    write_list(place)
    return place


def write_list(place: Path) -> None:
    paths = [
        path for path in place.rglob("*") if not path.is_dir() and "credentials" not in path.parts and path.name != "files.json"
    ]
    stat = {str(one.relative_to(place)): signs(one) for one in paths if not one.is_symlink()}
    links = {str(one.relative_to(place)): str(one.readlink()) for one in paths if one.is_symlink()}
    (place / "files.json").write_text(json.dumps({"schema": "ddtree-ops/files/v1", "stat": stat, "links": links}))


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "OWNER", os.getuid())


@pytest.mark.parametrize(
    ("name", "mode"),
    [(".", 0o700), ("venv/lib", 0o777), ("venv/lib/a.py", 0o600), ("server.json", 0o666), ("server.json", 0o744)],
)
def test_a_wrong_mode_is_drift(tmp_path: Path, name: str, mode: int) -> None:
    (listed(tmp_path) / name).chmod(mode)
    assert check(tmp_path)["access"] == {name: f"{mode:04o} of user {os.getuid()}"}


def test_another_owner_is_drift(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed(tmp_path)
    monkeypatch.setattr(files, "OWNER", os.getuid() + 1)
    assert {".", "venv/lib/a.py", "venv/lib"} <= check(tmp_path)["access"].keys()


def signs(path: Path) -> list[int]:
    seen = path.stat()
    return [seen.st_size, seen.st_mtime_ns, seen.st_ino]


def check(root: Path) -> dict[str, Any]:
    found = files.check(str(root), RELEASE)
    assert found is not None
    return found


def test_untouched_files_are_no_drift(tmp_path: Path) -> None:
    listed(tmp_path)
    assert check(tmp_path) == {"listed": 4, "more": 0, "changed": [], "missing": [], "added": [], "access": {}}


def test_changed_missing_and_added_files_have_their_names(tmp_path: Path) -> None:
    place = listed(tmp_path)
    (place / "venv/lib/a.py").write_text("venv/lib/A.py")  # the same size
    (place / "venv/lib/b.py").unlink()
    (place / "venv/lib/sitecustomize.py").write_text("import evil")
    (place / "venv/python").unlink()
    (place / "venv/python").symlink_to("/usr/bin/python3.9")
    found = check(tmp_path)
    assert found["changed"] == ["venv/lib/a.py", "venv/python"]
    assert found["missing"] == ["venv/lib/b.py"]
    assert found["added"] == ["venv/lib/sitecustomize.py"]


def test_a_file_put_in_its_place_shows_by_its_inode(tmp_path: Path) -> None:
    place = listed(tmp_path)
    before = (place / "server.json").stat()
    (place / "new").write_text("server.JSON")
    os.utime(place / "new", ns=(before.st_atime_ns, before.st_mtime_ns))
    (place / "new").rename(place / "server.json")
    assert check(tmp_path)["changed"] == ["server.json"]


def test_what_may_change_is_no_drift(tmp_path: Path) -> None:
    place = listed(tmp_path)
    (place / "credentials/api_key").write_text("another")
    (place / "credentials.next").mkdir()
    (place / "credentials.next/api_key").touch()
    (place / "venv/lib/__pycache__/a.cpython-311.pyc").touch()
    os.link(place / "venv/lib/a.py", tmp_path / "another release's")  # changes the inode's ctime
    assert not any(check(tmp_path)[kind] for kind in ("changed", "missing", "added"))


def test_a_directory_that_became_a_link_is_drift(tmp_path: Path) -> None:
    place = listed(tmp_path)
    (place / "venv/lib").rename(tmp_path / "elsewhere")
    (place / "venv/lib").symlink_to(tmp_path / "elsewhere")
    found = check(tmp_path)
    assert (found["missing"], found["added"]) == (["venv/lib/a.py", "venv/lib/b.py"], ["venv/lib"])


def test_many_names_are_counted(tmp_path: Path) -> None:
    place = listed(tmp_path)
    for number in range(50):
        (place / f"added-{number:02}").touch()
    found = check(tmp_path)
    assert (len(found["added"]), found["more"]) == (files.MOST_NAMES, 50 - files.MOST_NAMES)


def test_a_release_without_a_list_is_not_judged(tmp_path: Path) -> None:
    (listed(tmp_path) / "files.json").unlink()
    assert files.check(str(tmp_path), RELEASE) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"stat": []}', '{"stat": {}, "links": 1}', "[" * 100_000])
def test_a_damaged_list_is_drift(tmp_path: Path, text: str) -> None:
    (listed(tmp_path) / "files.json").write_text(text)
    assert check(tmp_path) == {"problem": "files.json is damaged"}
