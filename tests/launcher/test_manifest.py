"""Manifests of a real venv with a real wheel in it, and every way in which it can drift."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sglang_ddtree import manifest
from sglang_ddtree.records import site_packages


def install(site: Path, name: str, files: dict[str, str]) -> None:
    """A distribution as an installer leaves it: files, METADATA, and a RECORD with their hashes."""
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    files = files | {f"{info.name}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"}
    lines = []
    for path, text in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text, encoding="utf-8")
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(text)}")
    record = [*lines, f"{info.name}/RECORD,,", f"{name}/__pycache__/a.cpython-311.pyc,,"]
    (info / "RECORD").write_text("\n".join(record) + "\n", encoding="utf-8")


@pytest.fixture
def release(tmp_path: Path) -> Path:
    site = tmp_path / "venv" / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (tmp_path / "venv" / "pyvenv.cfg").write_text("home = /usr/bin\nversion_info = 3.11.2\n", encoding="utf-8")
    install(site, "engine", {"engine/__init__.py": "", "engine/core.py": "x = 1\n", "../../../bin/engine": "#!python\n"})
    install(site, "plugin", {"plugin/__init__.py": "y = 2\n"})
    (site / "venv_hook.pth").write_text("import os\n", encoding="utf-8")
    (tmp_path / "server.json").write_text("{}", encoding="utf-8")
    (tmp_path / "ddtree-server@.service").write_text("[Service]\n", encoding="utf-8")
    manifest.write(tmp_path, {"id": "lab-1", "patches": [], "lock_sha256": "ab"})
    return tmp_path


def test_written(release: Path) -> None:
    document = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    assert document["schema"] == "ddtree-ops/release/v1"
    assert document["id"] == "lab-1"
    assert document["python"] == "3.11.2"
    assert document["packages"] == {"engine": "1.0", "plugin": "1.0"}
    assert set(document["records"]) == {"engine-1.0.dist-info/RECORD", "plugin-1.0.dist-info/RECORD"}
    assert set(document["unowned"]) == {"venv_hook.pth"}
    assert document["server_sha256"] == hashlib.sha256(b"{}").hexdigest()


def test_unchanged(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert manifest.main(["verify", "--release", str(release)]) == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True


def edit(release: Path) -> list[str]:
    (site_packages(release / "venv") / "engine" / "core.py").write_text("x = 3\n", encoding="utf-8")
    return ["files", "changed", "engine/core.py"]


def delete(release: Path) -> list[str]:
    (site_packages(release / "venv") / "plugin" / "__init__.py").unlink()
    return ["files", "missing", "plugin/__init__.py"]


def edit_script(release: Path) -> list[str]:
    (release / "venv" / "bin" / "engine").write_text("#!evil\n", encoding="utf-8")
    return ["files", "changed", "../../../bin/engine"]


def hide_an_edit(release: Path) -> list[str]:
    site = site_packages(release / "venv")
    shutil.rmtree(site / "engine-1.0.dist-info")
    install(site, "engine", {"engine/__init__.py": "", "engine/core.py": "x = 3\n"})
    return ["records", "changed", "engine-1.0.dist-info/RECORD"]


def add_package(release: Path) -> list[str]:
    install(site_packages(release / "venv"), "other", {"other/__init__.py": ""})
    return ["records", "added", "other-1.0.dist-info/RECORD"]


def add_module(release: Path) -> list[str]:
    (site_packages(release / "venv") / "engine" / "extra.py").write_text("", encoding="utf-8")
    return ["unowned", "added", "engine/extra.py"]


@pytest.mark.parametrize("change", [edit, delete, edit_script, hide_an_edit, add_package, add_module])
def test_drift(release: Path, change: Callable[[Path], list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    group, kind, name = change(release)
    assert manifest.main(["verify", "--release", str(release)]) == 1
    assert name in json.loads(capsys.readouterr().out)[group][kind]


def test_changed_settings(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (release / "server.json").write_text('{"a": 1}', encoding="utf-8")
    assert manifest.main(["verify", "--release", str(release)]) == 1
    assert json.loads(capsys.readouterr().out)["release_files"] == ["server_sha256"]


def test_no_manifest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert manifest.main(["verify", "--release", str(tmp_path)]) == 2
    assert "manifest.json" in capsys.readouterr().err
