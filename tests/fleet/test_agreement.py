"""The real ansible-inventory must see the same hosts, groups and variables in every inventory of this repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ddtree_ops.fleet.inventory import load_fleet
from ddtree_ops.fleet.nodes import Vault

pytestmark = pytest.mark.processes

PROJECT = Path(__file__).parents[2]
INVENTORIES = ("inventories/example", "inventories/lab", "tests/fleet/agreement")


def ansible_list(inventory: str, config: Path) -> dict[str, Any]:
    """`ansible-inventory --list` of an inventory of the project."""
    program = Path(sys.executable).with_name("ansible-inventory")
    environment = {**os.environ, "ANSIBLE_CONFIG": str(config), "ANSIBLE_LOCALHOST_WARNING": "False"}
    done = subprocess.run(
        (str(program), "-i", inventory, "--list"),
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.fixture(scope="module")
def seen_by_ansible(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    config = tmp_path_factory.mktemp("ansible") / "ansible.cfg"
    config.write_text("[defaults]\n")  # nobody's own settings
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(INVENTORIES, pool.map(ansible_list, INVENTORIES, [config] * len(INVENTORIES)), strict=True))


def comparable(value: object) -> object:
    """As ansible-inventory prints it: JSON, with vault values and dates in its own form."""
    if isinstance(value, Vault):
        return "vault"
    if isinstance(value, dict) and "__ansible_unsafe" in value:
        return value["__ansible_unsafe"]
    if isinstance(value, dict):
        return "vault" if "__ansible_vault" in value else {str(key): comparable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [comparable(item) for item in value]
    return value if isinstance(value, str | int | float) or value is None else str(value)


@pytest.mark.parametrize("inventory", INVENTORIES)
def test_variables(inventory: str, seen_by_ansible: dict[str, dict[str, Any]]) -> None:
    expected = seen_by_ansible[inventory]["_meta"]["hostvars"]
    for host in load_fleet(PROJECT / inventory).hosts:
        assert comparable(dict(host.variables)) == comparable(expected.get(host.name, {})), host.name


@pytest.mark.parametrize("inventory", INVENTORIES)
def test_groups(inventory: str, seen_by_ansible: dict[str, dict[str, Any]]) -> None:
    listed = seen_by_ansible[inventory]

    def members(group: str) -> set[str]:
        found = set(listed.get(group, {}).get("hosts", ()))
        return found.union(*(members(child) for child in listed.get(group, {}).get("children", ())))

    fleet = load_fleet(PROJECT / inventory)
    assert {host.name for host in fleet.hosts} == members("all")
    for group in {*listed, *(child for one in listed.values() for child in one.get("children", ()))} - {"_meta"}:
        ours = set(fleet.groups.get(group, ()))
        assert ours == members(group), group
