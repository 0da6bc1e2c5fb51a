"""roles/model/files/model.py, run as the role runs it: as a program from standard input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

pytestmark = pytest.mark.processes

PROGRAM = Path(__file__).resolve().parents[2] / "roles" / "model" / "files" / "model.py"
INDEX = "model.safetensors.index.json"
HEADER = json.dumps({"x": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}).encode()
SHARD = len(HEADER).to_bytes(8, "little") + HEADER + b"1234"


@pytest.fixture
def model() -> Iterator[Path]:
    """A complete model with two shards, where any user can reach it (pytest's own directories are closed to others)."""
    with TemporaryDirectory(dir="/tmp") as folder:
        root = Path(folder)
        root.chmod(0o755)
        (root / "config.json").write_text("{}")
        shards = ("a.safetensors", "b.safetensors")
        for name in shards:
            (root / name).write_bytes(SHARD)
        (root / INDEX).write_text(json.dumps({"weight_map": {"x": shards[0], "y": shards[1], "z": shards[1]}}))
        yield root


def look(*paths: Path) -> Any:
    """The program's answer; the service user does not exist here, so it looks as nobody."""
    python = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable
    argv = (python, "-", "no-such-user", *map(str, paths))
    done = subprocess.run(argv, stdin=PROGRAM.open(), capture_output=True, check=True, timeout=30)
    return json.loads(done.stdout)


def problems(model: Path) -> list[tuple[str, str]]:
    return [(Path(finding["path"]).name, finding["problem"]) for finding in look(model)["findings"]]


def test_a_complete_model_and_its_size(model: Path) -> None:
    assert look(model) == {"findings": [], "bytes": {str(model): 2 * len(SHARD)}, "configs": {str(model): {}}}


def test_a_model_without_an_index_is_its_safetensors(model: Path) -> None:
    (model / INDEX).unlink()
    assert look(model) == {"findings": [], "bytes": {str(model): 2 * len(SHARD)}, "configs": {str(model): {}}}


def test_missing_and_empty_shards_are_named_all_of_them(model: Path) -> None:
    (model / "a.safetensors").unlink()
    (model / "b.safetensors").write_bytes(b"")
    assert problems(model) == [("a.safetensors", "is missing"), ("b.safetensors", "is empty")]


def test_a_link_into_nothing_is_missing(model: Path) -> None:
    (model / "a.safetensors").unlink()
    (model / "a.safetensors").symlink_to("../blobs/0123")
    assert problems(model) == [("a.safetensors", "is missing")]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can look as somebody else")
def test_what_the_service_user_may_not_read(model: Path) -> None:
    (model / "a.safetensors").chmod(0o600)
    (finding,) = look(model)["findings"]
    assert finding["problem"] == "can't be read by user no-such-user"
    assert finding["fix"] == f"chmod o+r {model / 'a.safetensors'}"
    model.chmod(0o700)
    (finding,) = look(model)["findings"]
    assert finding["fix"] == f"chmod o+x {model}"


def test_broken_json_and_an_index_without_weights(model: Path) -> None:
    (model / "config.json").write_text("{")
    (model / INDEX).write_text("[]")
    names = [name for name, _ in problems(model)]
    assert names == ["config.json", INDEX]


def test_shards_whose_size_is_not_what_their_header_means(model: Path) -> None:
    (model / "a.safetensors").write_bytes(SHARD[:-3])
    (model / "b.safetensors").write_bytes(SHARD + b"5")
    size = len(SHARD)
    assert problems(model) == [
        ("a.safetensors", f"is truncated: {size - 3} of {size} bytes"),
        ("b.safetensors", f"is too long: {size + 1} of {size} bytes"),
    ]
    (model / "a.safetensors").write_bytes(bytes(size))  # what a download leaves that reserves its space first
    (model / "b.safetensors").write_bytes(b"<html>not found</html>")
    assert {problem for _, problem in problems(model)} == {"has no readable header, so it is no safetensors file"}


def test_an_entry_of_a_hugging_face_cache_names_the_revision_to_use(model: Path) -> None:
    snapshot = model / "models--org--name" / "snapshots" / "0123abc"
    snapshot.mkdir(parents=True)
    (snapshot.parent.parent / "refs").mkdir()
    (snapshot.parent.parent / "refs" / "main").write_text("0123abc")
    for name in ("config.json", INDEX, "a.safetensors", "b.safetensors"):
        (snapshot / name).symlink_to(model / name)
    assert look(snapshot)["findings"] == []
    (finding,) = look(snapshot.parent.parent)["findings"]
    assert finding["fix"] == f"use the path {snapshot}"


def test_what_is_missing_has_to_fit(model: Path) -> None:
    index = json.loads((model / INDEX).read_text())
    (model / INDEX).write_text(json.dumps(index | {"metadata": {"total_size": 2**60}}))
    (model / "a.safetensors").unlink()
    first, second = look(model)["findings"]
    assert first["problem"] == "is missing"
    assert second["problem"].startswith("lacks 1099511627775 MiB of weights")


def test_no_directory_at_all(model: Path) -> None:
    assert look(model / "none")["findings"][0]["problem"] == "is no directory"


def config_of(model: Path, content: str | bytes) -> Any:
    (model / "config.json").write_bytes(content.encode() if isinstance(content, str) else content)
    return look(model)["configs"][str(model)]


def test_a_config_comes_with_the_answer_but_not_what_is_long_deep_or_no_json(model: Path) -> None:
    long = {"layers": 61, "text_config": {"heads": 8}, "types": ["full"] * 61, "ids": list(range(1000)), "name": "x" * 999}
    expected = {"layers": 61, "text_config": {"heads": 8}, "types": ["full"] * 61, "ids": None, "name": "x" * 200}
    assert config_of(model, json.dumps(long)) == expected
    assert config_of(model, '{"a":' * 6 + "1" + "}" * 6) == {"a": {"a": {"a": {"a": None}}}}
    assert config_of(model, json.dumps({"big": 10**400, "not a number": float("nan"), "list": [1, [2, [3, [4, [5]]]]]})) == {
        "big": None,
        "not a number": None,
        "list": [1, [2, [3, None]]],
    }
    assert config_of(model, "[" * 100_000) is None
    assert config_of(model, b"\xff\0") is None
    assert config_of(model, '{"a": "' + "x" * (1 << 20) + '"}') is None
