"""A tree is found in whatever form it lies there, and nothing beside it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ddtree_ops.errors import UsageError
from ddtree_ops.runtime.source import folders
from ddtree_ops.runtime.source.tree import open_tree

from .small_trees import ENGINE, PLUGIN, venv, write

OURS = ["sglang/__init__.py", "sglang/_version.py", "sglang/srt/runner.py", "sglang/srt/server_args.py"]


def names(path: Path) -> list[str]:
    return [file.name for file in open_tree(path).files]


@pytest.mark.parametrize("below", ["", "sglang", "checkout"])
def test_a_package_is_the_same_from_wherever_it_is_named(tmp_path: Path, below: str) -> None:
    if below == "checkout":
        write(tmp_path / "checkout" / "python", ENGINE)
        write(tmp_path / "checkout", {"examples/run.py": "", "python/setup.py": ""})
    else:
        write(tmp_path, ENGINE)
    tree = open_tree(tmp_path / below)
    assert [file.name for file in tree.files] == OURS
    assert tree.version == "0.5.13.post1"


def test_a_folder_of_a_package_keeps_its_names(tmp_path: Path) -> None:
    write(tmp_path, ENGINE)
    assert names(tmp_path / "sglang" / "srt") == OURS[2:]


@pytest.mark.parametrize("below", ["", "lib/python3.12/site-packages"])
def test_of_a_venv_only_what_serves_and_what_plugs_into_it(tmp_path: Path, below: str) -> None:
    tree = open_tree(venv(tmp_path) / below)
    assert [file.name for file in tree.files] == [*sorted(PLUGIN), *OURS]
    assert tree.version == "0.5.13.post2"


def test_a_release_is_read_through_its_venv(tmp_path: Path) -> None:
    venv(tmp_path / "venv")
    write(tmp_path, {"launcher.py": ""})
    assert names(tmp_path) == [*sorted(PLUGIN), *OURS]


def test_a_plugin_beside_the_engine_counts(tmp_path: Path) -> None:
    write(tmp_path, {**ENGINE, **PLUGIN})
    assert names(tmp_path) == [*sorted(PLUGIN), *OURS]


def test_a_checkout_of_a_plugin_is_its_package_alone(tmp_path: Path) -> None:
    write(tmp_path, {"pyproject.toml": "", "setup.py": "", "tests/test_x.py": "", "scripts/x.py": ""})
    write(tmp_path / "src", PLUGIN)
    assert names(tmp_path) == sorted(PLUGIN)


def test_an_editable_installation_leads_to_its_checkout(tmp_path: Path) -> None:
    site = venv(tmp_path / "env") / "lib" / "python3.12" / "site-packages"
    (site / "our_plugin").rename(tmp_path / "our_plugin")
    write(tmp_path / "my plug", {"src/our_plugin/__init__.py": "", "src/our_plugin/new.py": ""})
    url = {"url": (tmp_path / "my plug").as_uri(), "dir_info": {"editable": True}}
    write(site, {"our_plugin-1.0.dist-info/direct_url.json": json.dumps(url)})
    assert names(tmp_path / "env") == ["our_plugin/__init__.py", "our_plugin/new.py", *OURS]


def test_links_lead_nowhere(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"secret.py": "x = 1\n"})
    root = write(tmp_path / "tree", ENGINE)
    (root / "sglang" / "srt" / "loop").symlink_to(root / "sglang")
    (root / "sglang" / "srt" / "out").symlink_to(outside)
    (root / "sglang" / "srt" / "one.py").symlink_to(outside / "secret.py")
    assert names(root) == OURS


def test_odd_names_and_odd_files_are_survived(tmp_path: Path) -> None:
    root = write(tmp_path, {**ENGINE, "sglang/a\x1b[31m\n b.py": "x = 1\n"})
    (Path(os.fsdecode(os.fsencode(root) + b"/sglang/\xff.py"))).write_text("y = 1\n")
    os.mkfifo(root / "sglang" / "pipe.py")
    (root / "sglang" / "folder.py").mkdir()
    assert len(names(root)) == len(OURS) + 2


@pytest.mark.parametrize(
    ("path", "said"), [("nothing", "no source at"), ("empty", "no Python source in"), ("file.txt", "no wheel")]
)
def test_what_is_no_source_is_told_with_its_path(tmp_path: Path, path: str, said: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.txt").write_text("hello")
    with pytest.raises(UsageError, match=said) as raised:
        open_tree(tmp_path / path)
    assert str(tmp_path / path) in raised.value.message
    assert raised.value.hint


def test_a_whole_disk_is_not_walked_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {f"many/{number}/x.txt": "" for number in range(30)})
    monkeypatch.setattr(folders, "_MOST_ENTRIES", 20)
    with pytest.raises(UsageError, match="too much"):
        open_tree(tmp_path)
