"""Module ddtree_kept: the files that units ran with come back as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.roles.monitoring import load

pytestmark = pytest.mark.processes
KEPT = load("library/ddtree_kept.py")


def unit(tmp_path: Path, *names: str) -> Any:
    return KEPT.Unit("a", tuple(tmp_path / name for name in names), tmp_path / "kept" / "a")


def test_what_was_replaced_comes_back_with_its_rights(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("former")
    file.chmod(0o400)
    kept = unit(tmp_path, "secret")
    kept.keep()
    file.unlink()
    file.write_text("new")
    assert kept.put_back()
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("former", 0o400)
    assert kept.kept.stat().st_mode & 0o777 == 0o700
    assert not kept.put_back(), "nothing is left to do"


def test_what_was_not_there_goes_and_what_is_gone_comes_back(tmp_path: Path) -> None:
    (tmp_path / "gone").write_text("former")
    kept = unit(tmp_path, "gone", "came")
    kept.keep()
    (tmp_path / "gone").unlink()
    (tmp_path / "came").write_text("new")
    assert kept.put_back()
    assert (tmp_path / "gone").read_text() == "former"
    assert not (tmp_path / "came").exists()


def test_a_link_leads_where_it_led_unless_that_is_gone(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    link = tmp_path / "venv"
    link.symlink_to("one")
    kept = unit(tmp_path, "venv")
    kept.keep()
    link.unlink()
    link.symlink_to("two")
    assert kept.put_back()
    assert str(link.readlink()) == "one"
    link.unlink()
    link.symlink_to("two")
    (tmp_path / "one").rmdir()
    assert not kept.put_back()
    assert str(link.readlink()) == "two"


def test_the_last_that_was_kept_counts(tmp_path: Path) -> None:
    file = tmp_path / "file"
    kept = unit(tmp_path, "file")
    for text in ("first", "second"):
        file.write_text(text)
        kept.keep()
    file.write_text("third")
    assert kept.put_back()
    assert file.read_text() == "second"


def test_without_anything_kept_nothing_is_touched(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("new")
    assert not unit(tmp_path, "file").put_back()
    assert (tmp_path / "file").read_text() == "new"
