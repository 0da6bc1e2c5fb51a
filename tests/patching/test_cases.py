"""Golden folders: `before/` and `p.diff` give `after/`, or the words of `says.txt` and a tree that is as it was."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from sglang_ddtree.patching import series

CASES = sorted((Path(__file__).parent / "cases").iterdir())


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def digest(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Path, tmp_path: Path) -> None:
    site, folder = tmp_path / "site", tmp_path / "patches"
    shutil.copytree(case / "before", site)
    folder.mkdir()
    shutil.copy(case / "p.diff", folder / "01-p.diff")
    patches = [{"name": "p.diff", "sha256": str(digest(case / "p.diff"))}]
    says = case / "says.txt"
    if says.exists():
        with pytest.raises(series.Conflicts) as caught:
            series.apply(site, folder, patches)
        assert "\n".join(caught.value.lines) + "\n" == says.read_text()
        assert tree(site) == tree(case / "before"), "a conflict changes nothing"
        return
    touched = series.apply(site, folder, patches)
    assert tree(site) == tree(case / "after")
    names = tree(case / "before").keys() | tree(case / "after").keys()
    changed = {name for name in names if tree(case / "before").get(name) != tree(case / "after").get(name)}
    assert touched == {
        name: {"before": digest(case / "before" / name), "after": digest(case / "after" / name)} for name in changed
    }
