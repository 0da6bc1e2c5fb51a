"""The plugin loads into the SGLang it knows, and ends the process with any other."""

from __future__ import annotations

import ast
import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from sglang_ddtree.ddtree.fingerprints import Mismatch, Release, identify, known_releases
from sglang_ddtree.ddtree.refusals import Refused
from sglang_ddtree.runtime.plugin import check_sglang
from tests.ddtree.conftest import SOURCE

FILES = {"srt/a.py": "one = 1\n", "srt/deep/b.py": "two = 2\n"}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "sglang" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "sglang"


RELEASES = (
    Release("9.9", {"srt/a.py": "0" * 64, "srt/deep/b.py": "1" * 64}),
    Release("1.2", {name: hashlib.sha256(text.encode()).hexdigest() for name, text in FILES.items()}),
)


def test_known(package: Path) -> None:
    found = identify(package, RELEASES)
    assert isinstance(found, Release)
    assert found.version == "1.2"


def test_one_changed_byte(package: Path) -> None:
    (package / "srt/a.py").write_text("one = 2\n", encoding="utf-8")
    found = identify(package, RELEASES)
    assert isinstance(found, Mismatch)
    assert (found.version, found.files) == ("1.2", ("srt/a.py",))
    assert "srt/a.py" in str(found)


def test_a_missing_file(package: Path) -> None:
    (package / "srt/deep/b.py").unlink()
    assert identify(package, RELEASES) == Mismatch("1.2", ("srt/deep/b.py",))


def test_the_plugin_ends_the_process(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Refused) as caught:
        check_sglang(package)
    assert caught.value.code == 78
    assert "0.5.13.post1" in capsys.readouterr().err
    with pytest.raises(Refused):
        check_sglang(None)


@pytest.mark.processes
def test_sglangs_own_way_of_loading_can_not_swallow_it(package: Path) -> None:
    """SGLang catches `Exception` around a plugin; what is raised here must pass through."""
    program = (
        "from sglang_ddtree.runtime.plugin import load\n"
        "try:\n    load()\nexcept Exception:\n    print('served without it')\nprint('still alive')\n"
    )
    done = subprocess.run(
        (sys.executable, "-c", program),
        env={"PYTHONPATH": f"{SOURCE}:{package.parent}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert (done.returncode, done.stdout) == (78, "")
    assert "ddtree: refused: " in done.stderr


def test_the_known_release_covers_what_is_imported() -> None:
    """Every module of SGLang that the runtime imports is among the files checked."""
    (release,) = known_releases()
    assert release.version == "0.5.13.post1"
    imported = {
        line.split()[1].removeprefix("sglang.").replace(".", "/") + ".py"
        for path in (SOURCE / "sglang_ddtree" / "runtime").glob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.strip().startswith("from sglang.srt.")
    }
    unchecked = {name for name in imported if name not in release.sha256}
    assert unchecked <= {"srt/distributed.py", "srt/speculative/spec_utils.py", "srt/utils/hf_transformers_utils.py"}, unchecked


def test_every_file_of_sglang_that_the_runtime_imports_from_is_known_by_its_hash() -> None:
    """But for one that re-exports another of the list, and one that only reads a model's config."""
    allowed = {"srt/distributed", "srt/utils/hf_transformers_utils"}
    (release,) = known_releases()
    imported = set()
    for path in (SOURCE / "sglang_ddtree" / "runtime").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sglang."):
                imported.add((node.module or "").removeprefix("sglang.").replace(".", "/"))
    assert len(imported) > 10
    assert {name for name in imported if f"{name}.py" not in release.sha256} <= allowed
