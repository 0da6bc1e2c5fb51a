"""`ddtree-ops exporter --inventory ... --file-sd ...`"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ddtree_ops.cli.exporter import command
from ddtree_ops.cli.exporter_discovery import told
from ddtree_ops.errors import DdtreeOpsError, UsageError

GOOD = "gpus: {hosts: {a: {ddtree_hardware: b300-8x, ddtree_serving: {model: {path: /m}}}}}\n"


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    path = tmp_path / "hosts.yml"
    path.write_text(GOOD)
    return path


def test_the_list_is_printed(inventory: Path) -> None:
    done = CliRunner().invoke(command, ["-i", str(inventory), "--file-sd", "-"])
    assert done.exit_code == 0
    assert {group["labels"]["__meta_ddtree_job"] for group in json.loads(done.output)} == {
        "ddtree-exporter",
        "ddtree-probe",
        "node",
        "sglang",
    }


def test_the_file_is_written_once(inventory: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    words = [CliRunner().invoke(command, ["-i", str(inventory), "--file-sd", str(path), "--once"]).output for _ in range(2)]
    assert words == [f"{path}: 4 targets, written\n", f"{path}: 4 targets, unchanged\n"]
    assert len(json.loads(path.read_bytes())) == 4


def test_a_broken_inventory_writes_nothing(inventory: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    inventory.write_text("[")
    with pytest.raises(UsageError, match="is not valid YAML"):
        told(inventory, path).write_once()
    assert not path.exists()


def test_what_can_not_be_is_refused(inventory: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--file-sd writes the targets of an inventory"):
        told(None, tmp_path / "t.json")
    with pytest.raises(UsageError, match="Prometheus tells by the name"):
        told(inventory, tmp_path / "targets.txt")
    with pytest.raises(DdtreeOpsError, match=r"can't write .*nowhere.*: No such file"):
        told(inventory, tmp_path / "nowhere" / "t.json").start()


def test_without_an_inventory_nothing_is_told() -> None:
    nothing = told(None, None)
    assert (list(nothing.collectors), list(nothing.routes)) == ([], [])
    nothing.start()
    nothing.close()


def test_a_host_with_a_mistake_is_not_left_out(inventory: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    told(inventory, path).write_once()
    before = path.read_bytes()
    inventory.write_text(GOOD.replace("{ddtree_hardware", "{ddtree_monitoring: {exporter_port: abc}, ddtree_hardware"))
    for file in (path, Path("-")):
        with pytest.raises(UsageError, match="1 host has mistakes") as raised:
            told(inventory, file).write_once()
        assert "host a: " in raised.value.evidence[0]
    assert path.read_bytes() == before
