"""Fleet and Host: finding hosts, connections, lazy reading, vaults."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ddtree_ops.errors import InvalidInventory, UsageError
from ddtree_ops.fleet.connection import Connection
from ddtree_ops.fleet.inventory import Fleet, load_fleet
from ddtree_ops.fleet.nodes import Vault

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]


def fleet_of(directory: Path, hosts: str) -> Fleet:
    """A fleet of one file with that text."""
    path = directory / "hosts.yml"
    path.write_text(hosts)
    return load_fleet(path)


@pytest.mark.parametrize("name", ["example", "lab"])
def test_shipped_inventories_are_sound(name: str) -> None:
    fleet = load_fleet(PROJECT / "inventories" / name)
    assert [host.name for host in fleet.hosts] == ["ct200", "b300"]
    assert [host.hardware.name for host in fleet.hosts] == ["rtx-pro-6000-8x", "b300-8x"]
    assert [host.name for host in fleet.group("blackwell_ultra")] == ["b300"]


def test_group_holds_the_hosts_of_its_children() -> None:
    fleet = load_fleet(PROJECT / "inventories" / "example")
    assert [host.name for host in fleet.group("production")] == ["ct200", "b300"]
    assert fleet.group("all") == fleet.hosts
    assert fleet.host("ct200").groups == ("production", "rtx_pro_6000")


def test_unknown_names_tell_the_nearest(tmp_path: Path) -> None:
    fleet = fleet_of(tmp_path, "gpus:\n  hosts:\n    ct200:\n    b300:\n")
    with pytest.raises(UsageError, match=r"no host is named 'ct20' .* did you mean 'ct200'"):
        fleet.host("ct20")
    with pytest.raises(UsageError, match=r"no group is named 'gpu' .* did you mean 'gpus'"):
        fleet.group("gpu")
    others = fleet_of(tmp_path, "all: {children: {rtx: {hosts: {a: {}}}, monitoring: {hosts: {b: {}}}}}")
    with pytest.raises(UsageError, match=r"named 'nogroup' .* did you mean 'ungrouped'") as raised:
        others.group("nogroup")
    assert raised.value.hint == "its groups are all, monitoring, rtx, ungrouped"
    with pytest.raises(UsageError, match="no inventory at"):
        load_fleet(tmp_path / "nowhere")


def test_a_certificate_beside_it_is_no_inventory(tmp_path: Path) -> None:
    for name in ("ca.pem", "ca.crt"):
        (tmp_path / name).write_text("-----BEGIN CERTIFICATE-----\n")
    (tmp_path / "hosts.yml").write_text("all: {hosts: {a: {}}}")
    assert [host.name for host in load_fleet(tmp_path).hosts] == ["a"]


def test_a_broken_host_hides_no_other(tmp_path: Path) -> None:
    fleet = fleet_of(
        tmp_path,
        "all:\n  vars: {ddtree_hardware: b300-8x}\n  hosts:\n"
        "    good: {ddtree_serving: {model: {path: /m}}}\n"
        "    bad: {ddtree_serving: {model: {path: m}}, ansible_port: none}\n"
        "    monitoring:\n",
    )
    assert fleet.host("good").serving.model.path == "/m"
    for name in ("serving", "connection"):
        with pytest.raises(InvalidInventory):
            getattr(fleet.host("bad"), name)
    assert not fleet.host("monitoring").serves
    with pytest.raises(InvalidInventory, match="monitoring: has no ddtree_serving"):
        _ = fleet.host("monitoring").serving


def test_connection(tmp_path: Path) -> None:
    fleet = fleet_of(
        tmp_path,
        "all:\n  hosts:\n    plain:\n    a:\n      ansible_host: 192.0.2.1\n      ansible_port: 2222\n"
        "      ansible_user: ops\n      ansible_become: yes\n      ansible_ssh_private_key_file: /k\n"
        "      ansible_ssh_common_args: -F '/etc/ssh/a b' -J bastion -o ConnectTimeout=5 -oServerAliveInterval=10 -C\n"
        "      ansible_ssh_extra_args: -o ConnectTimeout=9 -l other -p 1\n    web[1:2]:2200:\n",
    )
    assert fleet.host("plain").connection == Connection("plain")
    assert fleet.host("a").connection == Connection(
        address="192.0.2.1",
        port=2222,
        user="ops",
        private_key_file="/k",
        ssh_config_file="/etc/ssh/a b",
        options={"proxyjump": "bastion", "connecttimeout": "5", "serveraliveinterval": "10"},
        become=True,
    )
    assert fleet.host("web2").connection.port == 2200


def test_ssh_options_become_what_our_own_connection_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    fleet = fleet_of(
        tmp_path,
        "all:\n  hosts:\n    a:\n      ansible_ssh_common_args: >-\n"
        "        -o User=ops -o Port=2200 -o HostName=192.0.2.9 -o 'IdentityFile ~/.ssh/k' -o ProxyJump=me@bastion:22\n"
        "        -o UserKnownHostsFile=~/.ssh/kh -o ServerAliveCountMax=3 -o StrictHostKeyChecking=yes -o ControlMaster=auto\n"
        "    b:\n      ansible_user: ops\n      ansible_ssh_args: -o User=first\n      ansible_ssh_common_args: -l last -i ~/k\n",
    )
    assert fleet.host("a").connection == Connection(
        address="192.0.2.9",
        port=2200,
        user="ops",
        private_key_file="/home/somebody/.ssh/k",
        options={"proxyjump": "me@bastion:22", "userknownhostsfile": "~/.ssh/kh", "serveralivecountmax": "3"},
    )
    assert (fleet.host("b").connection.user, fleet.host("b").connection.private_key_file) == ("first", "/home/somebody/k")


def test_a_misspelt_variable_is_said_when_the_host_is_used(tmp_path: Path) -> None:
    text = "all:\n  hosts:\n    a:\n      ddtree_hardware: b300-8x\n      ddtree_servin: {model: {path: /m}}\n"
    with pytest.raises(InvalidInventory) as caught:
        _ = fleet_of(tmp_path, text).host("a").serving
    assert any("did you mean 'ddtree_serving'?" in line for line in (caught.value.message, *caught.value.evidence))


def test_vault_values_stay_opaque() -> None:
    host = load_fleet(HERE / "vault").host("ct200")
    assert host.variables["server_key"] == Vault()
    assert repr(host.variables["server_key"]) == "<vault>"
    assert "ANSIBLE_VAULT" not in repr(host)
    assert host.serving.secrets["api_key"].vault == "server_key"


@pytest.mark.processes
def test_importing_and_looking_at_hosts_loads_no_pydantic() -> None:
    code = (
        "import sys; from pathlib import Path; from ddtree_ops.fleet.inventory import load_fleet\n"
        "load_fleet(Path(sys.argv[1])).host('ct200').connection; print('pydantic' in sys.modules)"
    )
    inventory = str(PROJECT / "inventories" / "lab")
    done = subprocess.run((sys.executable, "-c", code, inventory), cwd=PROJECT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
