"""The last steps of staging on a real venv: damaged packages, shared bytecode, files.json, patches in the manifest."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sglang_ddtree import manifest, release_files, staging
from sglang_ddtree.records import site_packages
from tests.launcher.test_manifest import install

pytestmark = pytest.mark.processes

DIFF = "--- a/engine/core.py\n+++ b/engine/core.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"


def staged(releases: Path, name: str, like: Path | None = None) -> Path:
    """A staging directory with a venv of this Python; `like`: its files are hard links to those of another release."""
    release = releases / f".staging-{name}"
    if like is not None:
        shutil.copytree(
            like, release, copy_function=os.link, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "*.json")
        )
    else:
        subprocess.run((sys.executable, "-m", "venv", "--without-pip", release / "venv"), check=True, timeout=60)
        modules = {f"engine/m{number}.py": f"y = {number}\n" for number in range(5)}
        install(
            site_packages(release / "venv"), "engine", {"engine/core.py": "x = 1\n", "../../../bin/engine": "#!x\n", **modules}
        )
        (release / "ddtree-server@.service").write_text("[Service]\n", encoding="utf-8")
    (release / "server.json").write_text("{}", encoding="utf-8")
    return release


def finish(release: Path, **seed: Any) -> Any:
    """Run it as the role does, and give the release its name unless it failed."""
    final = release.parent / release.name.removeprefix(".staging-")
    argv = ("--release", str(release), "--final", str(final), "--seed", "/dev/stdin")
    run = "runpy.run_module('sglang_ddtree.staging', run_name='__main__', alter_sys=True)"
    code = f"import runpy, sys; sys.path.append(sys.argv.pop(1)); {run}"
    source = Path(staging.__file__).parents[1]
    done = subprocess.run(
        (release / "venv" / "bin" / "python", "-I", "-S", "-c", code, source, *argv),
        input=json.dumps({"id": final.name, **seed}),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    if "patched" in answer:
        release.rename(final)
    return answer


def test_the_list_of_a_release_is_what_lies_there(tmp_path: Path) -> None:
    assert finish(staged(tmp_path, "a")) == {"patched": 0, "linked": 0, "compiled": 6}
    release = tmp_path / "a"
    document = release_files.read(release)
    assert "manifest.json" in document["stat"]
    assert "files.json" not in document["stat"]
    assert set(document["links"]) >= {"venv/bin/python"}
    for path, (size, mtime_ns, inode) in document["stat"].items():
        status = (release / path).stat()
        assert (status.st_size, status.st_mtime_ns, status.st_ino) == (size, mtime_ns, inode)
        assert path == "digests.json" or document["sha256"][path] == hashlib.sha256((release / path).read_bytes()).hexdigest()
    assert document["stat"].keys() == document["sha256"].keys() | {"digests.json"}
    assert json.loads((release / "manifest.json").read_text())["files_listed"] is True
    assert manifest.verify(release)["ok"]


def test_a_second_release_shares_the_compiled_modules(tmp_path: Path) -> None:
    finish(staged(tmp_path, "a"))
    assert finish(staged(tmp_path, "b", like=tmp_path / "a")) == {"patched": 0, "linked": 6, "compiled": 0}
    one, two = (next(site_packages(tmp_path / name / "venv").glob("engine/__pycache__/core.*")) for name in "ab")
    assert one.samefile(two)
    run = (tmp_path / "b" / "venv" / "bin" / "python", "-v", "-c", "import engine.core")
    said = subprocess.run(run, capture_output=True, text=True, check=True, timeout=60).stderr
    assert f"code object from '{two}'" in said, "the linked one is used as it is"


def test_bytecode_that_was_changed_is_not_shared(tmp_path: Path) -> None:
    finish(staged(tmp_path, "a"))
    compiled = next(site_packages(tmp_path / "a" / "venv").glob("engine/__pycache__/core.*"))
    compiled.write_bytes(compiled.read_bytes() + b"evil")
    answer = finish(staged(tmp_path, "b", like=tmp_path / "a"))
    assert (answer["linked"], answer["compiled"]) == (5, 1)


@pytest.mark.parametrize("name", ["files.json", "digests.json"])
def test_a_damaged_list_of_another_release_is_of_no_use_and_no_harm(tmp_path: Path, name: str) -> None:
    finish(staged(tmp_path, "a"))
    (tmp_path / "a" / name).write_text('{"schema": "ddtree-ops/files/v1", "stat": 3')
    assert finish(staged(tmp_path, "b", like=tmp_path / "a"))["compiled"] == 6


@pytest.mark.parametrize(
    "harm", [lambda path: path.write_text("x = 3\n"), lambda path: path.unlink(), lambda path: path.write_text("")]
)
def test_a_file_that_is_not_its_records_is_told_by_package(tmp_path: Path, harm: Any) -> None:
    release = staged(tmp_path, "a")
    harm(site_packages(release / "venv") / "engine" / "core.py")
    assert finish(release) == {"damaged": ["engine"]}
    assert not (release / "manifest.json").exists()


def test_an_edit_in_place_of_a_shared_file_is_found_by_the_next_release(tmp_path: Path) -> None:
    finish(staged(tmp_path, "a"))
    release = staged(tmp_path, "b", like=tmp_path / "a")
    (site_packages(tmp_path / "a" / "venv") / "engine" / "core.py").write_text("x = 3\n")
    assert finish(release) == {"damaged": ["engine"]}


def patched(releases: Path, name: str, diff: str) -> Any:
    release = staged(releases, name)
    (release / "patches").mkdir()
    (release / "patches" / "01-a.diff").write_text(diff)
    return finish(release, patches=[{"name": "a.diff", "sha256": hashlib.sha256(diff.encode()).hexdigest()}])


def test_a_patched_release_has_both_hashes_and_no_drift_until_it_is_edited(tmp_path: Path) -> None:
    assert patched(tmp_path, "a", DIFF)["patched"] == 1
    document = json.loads((tmp_path / "a" / "manifest.json").read_text())
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in ("x = 1\n", "x = 2\n")]
    assert document["patched_files"] == {"engine/core.py": {"before": digests[0], "after": digests[1]}}
    assert manifest.verify(tmp_path / "a")["ok"]
    core = site_packages(tmp_path / "a" / "venv") / "engine" / "core.py"
    core.write_text("x = 1\n")
    assert manifest.verify(tmp_path / "a")["files"] == {"changed": ["engine/core.py"], "missing": []}, (
        "as before the patch is drift"
    )
    core.unlink()
    assert manifest.verify(tmp_path / "a")["files"] == {"changed": [], "missing": ["engine/core.py"]}


def test_a_removed_file_that_comes_back_is_drift(tmp_path: Path) -> None:
    assert patched(tmp_path, "a", "--- a/engine/core.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x = 1\n")["patched"] == 1
    assert manifest.verify(tmp_path / "a")["ok"]
    (site_packages(tmp_path / "a" / "venv") / "engine" / "core.py").write_text("x = 1\n")
    assert manifest.verify(tmp_path / "a")["files"]["changed"] == ["engine/core.py"]


def test_a_conflict_writes_nothing(tmp_path: Path) -> None:
    answer = patched(tmp_path, "a", DIFF.replace("-x = 1", "-x = 9"))
    assert answer["message"].startswith("a patch can't be applied: a.diff: engine/core.py hunk 1: line 1 is another one")
    assert answer["conflicts"][1:] == ["  expected 'x = 9\\n'", "  found    'x = 1\\n'"]
    assert not (tmp_path / ".staging-a" / "manifest.json").exists()
