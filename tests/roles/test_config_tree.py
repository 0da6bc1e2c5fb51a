"""Module ddtree_tree: a directory of configuration changes as a whole, and only to what its program accepts."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import pytest

LIBRARY = Path(__file__).resolve().parents[2] / "roles" / "monitoring" / "library" / "ddtree_tree.py"
JUDGE = [sys.executable, "-c", "import json, sys; json.load(open(sys.argv[1] + '/main.json'))", "%s"]

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(os.geteuid() != 0, reason="owners are set, which needs root"),
]


def module() -> Any:
    spec = importlib.util.spec_from_file_location("ddtree_tree", LIBRARY)
    assert spec
    assert spec.loader
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


TREE = module()


def converge(path: Path, files: dict[str, str], **more: Any) -> Any:
    given = {"path": str(path), "files": files, "validate": [JUDGE], "group": "root", "public": False} | more
    return TREE.converge(given, check=False)


def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    assert converge(tree, {"main.json": "{}", "rules/a": "1"})["changed_files"] == ["main.json", "rules/a"]
    before = tree.stat().st_ino
    assert converge(tree, {"main.json": "{}", "rules/a": "1"}) == {"changed": False, "changed_files": []}
    assert tree.stat().st_ino == before
    assert (tree / "rules" / "a").stat().st_mode & 0o777 == 0o640


def test_a_refused_configuration_leaves_the_old_one(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    converge(tree, {"main.json": "{}"})
    with pytest.raises(TREE.Refused, match=r"the old one stays(.|\n)*JSONDecodeError"):
        converge(tree, {"main.json": "{"})
    assert (tree / "main.json").read_text() == "{}"
    assert [path.name for path in tmp_path.iterdir()] == ["tree"]


def test_files_that_are_gone_go(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    converge(tree, {"main.json": "{}", "rules/a": "1"})
    assert converge(tree, {"main.json": "{}"})["changed_files"] == ["rules/a"]
    assert not (tree / "rules").exists()


def test_wrong_rights_are_mended(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    converge(tree, {"main.json": "{}"})
    (tree / "main.json").chmod(0o666)
    assert converge(tree, {"main.json": "{}"})["changed"]
    assert (tree / "main.json").stat().st_mode & 0o777 == 0o640


def test_no_name_leads_out(tmp_path: Path) -> None:
    with pytest.raises(TREE.Refused):
        converge(tmp_path / "tree", {"main.json": "{}", "../../out": "x"})
    assert not list(tmp_path.iterdir())


def test_check_mode_judges_and_changes_nothing(tmp_path: Path) -> None:
    given = {"path": str(tmp_path / "tree"), "files": {"main.json": "{}"}, "validate": [JUDGE], "group": "root", "public": True}
    assert TREE.converge(given, check=True)["changed"]
    with pytest.raises(TREE.Refused):
        TREE.converge(given | {"files": {"main.json": "{"}}, check=True)
    assert not list(tmp_path.iterdir())
