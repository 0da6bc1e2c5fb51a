"""One folder per kind of spec: an inventory with one host, and the command line and environment that follow from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ddtree_ops.fleet.hardware import B300_8X, RTX_PRO_6000_8X
from ddtree_ops.fleet.inventory import load_fleet
from ddtree_ops.fleet.settings import Origin

CASES = Path(__file__).parent / "servers"


def server_of(case: Path) -> dict[str, Any]:
    """What the only host of a case would start."""
    (host,) = load_fleet(case / "hosts.yml").hosts
    spec = host.serving
    return {"argv": list(spec.server_argv(host.hardware)), "environment": spec.environment_for(host.hardware)}


@pytest.mark.parametrize("name", sorted(path.name for path in CASES.iterdir()))
def test_command_line_and_environment(name: str) -> None:
    assert server_of(CASES / name) == json.loads((CASES / name / "expected.json").read_text())


def test_every_argument_tells_where_it_comes_from() -> None:
    (host,) = load_fleet(CASES / "every_kind_of_value" / "hosts.yml").hosts
    settings = {one.name: one for one in host.serving.argument_settings(RTX_PRO_6000_8X)}
    assert settings["model-path"].origin is Origin.SECTION
    assert settings["mem-fraction-static"].origin is Origin.SPEC
    assert (settings["mem-fraction-static"].value, settings["mem-fraction-static"].default) == (0.5, 0.85)
    assert settings["page-size"].origin is Origin.PROFILE
    assert settings["page-size"].reason
    assert settings["watchdog-timeout"].value is None  # left out on purpose, and shown as such


def test_the_profile_decides_and_the_spec_does_not_change() -> None:
    (host,) = load_fleet(CASES / "tree_on_b300" / "hosts.yml").hosts
    argv = host.serving.server_argv(RTX_PRO_6000_8X)
    assert "--disable-custom-all-reduce" in argv
    assert "--disable-custom-all-reduce" not in host.serving.server_argv(B300_8X)
    assert argv == host.serving.server_argv(RTX_PRO_6000_8X)
