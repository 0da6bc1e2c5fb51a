"""What `init` writes must load, for every profile, and stay an ordinary inventory."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddtree_ops.errors import UsageError
from ddtree_ops.fleet.hardware import PROFILES
from ddtree_ops.fleet.inventory import Host, load_fleet
from ddtree_ops.fleet.profile import Speculation
from ddtree_ops.fleet.starter import starter_inventory


def written(directory: Path, files: dict[str, str], host: str) -> Host:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return load_fleet(directory).host(host)


@pytest.mark.parametrize("hardware", PROFILES)
@pytest.mark.parametrize("draft", [None, "/srv/models/draft"])
def test_loads(tmp_path: Path, hardware: str, draft: str | None) -> None:
    files = starter_inventory("ct200", "192.0.2.7", hardware, "/srv/models/k2.6", draft)
    host = written(tmp_path, files, "ct200")
    assert host.hardware.name == hardware
    assert host.connection.address == "192.0.2.7"
    assert host.serving.speculation is (Speculation.DDTREE if draft else Speculation.NONE)
    assert host.serving.server_args["served-model-name"] == "k2.6"


@pytest.mark.parametrize("name", ["yes", "1e3", "010", "null"])
def test_names_that_yaml_would_misread(tmp_path: Path, name: str) -> None:
    files = starter_inventory(name, None, "b300-8x", "/srv/my models: new", None)
    host = written(tmp_path, files, name)
    assert host.serving.model.path == "/srv/my models: new"
    assert host.connection.address == name


def test_commented_defaults_are_those_of_the_profile(tmp_path: Path) -> None:
    files = starter_inventory("ct200", None, "b300-8x", "/m", "/d")
    text = files["host_vars/ct200.yml"]
    for name, default in PROFILES["b300-8x"].argument_defaults(Speculation.DDTREE).items():
        assert f"#   {name}: " in text, default


@pytest.mark.parametrize("name", ["../evil", "a b", "", "-x", "a/b"])
def test_refused_names(name: str) -> None:
    with pytest.raises(UsageError, match="can't be a host name"):
        starter_inventory(name, None, "b300-8x", "/m", None)


def test_refused_paths() -> None:
    with pytest.raises(UsageError, match="absolute path"):
        starter_inventory("a", None, "b300-8x", "m", None)
