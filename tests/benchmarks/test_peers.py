"""The peers' work is what it says: 20 pieces each, of the versions that are named."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml

from benchmarks import contestants, peer_tools
from benchmarks.contestants import PYINFRA_OPERATIONS
from benchmarks.work import uv_environment

PROJECT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["checks.yml", "release.yml"])
def test_ansible_has_20_tasks(name: str) -> None:
    (play,) = yaml.safe_load((contestants.HERE / name).read_text())
    assert len(play["tasks"]) == 20
    assert "gather_facts" not in play  # plain and tuned differ by their configuration


@pytest.mark.parametrize("name", ["pyinfra_checks.py", "pyinfra_release.py"])
def test_pyinfra_has_20_operations(name: str) -> None:
    module = ast.parse((contestants.HERE / name).read_text())
    calls = [node for node in module.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    assert len(calls) == PYINFRA_OPERATIONS == 20


def pins(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^([\w-]+)==(\S+)", path.read_text(), re.MULTILINE))


def test_the_lock_holds_what_is_asked_for_and_our_own_ansible() -> None:
    wanted, locked = pins(peer_tools.HERE / "peers.in"), pins(peer_tools.LOCK)
    assert wanted.items() <= locked.items()
    assert locked["ansible-core"] == pins(PROJECT / "requirements" / "runtime.txt")["ansible-core"]


def test_every_package_of_the_lock_has_a_hash() -> None:
    blocks = re.split(r"^(?=[a-z])", peer_tools.LOCK.read_text(), flags=re.MULTILINE)[1:]
    assert blocks
    assert all("--hash=sha256:" in block for block in blocks)


def test_the_peers_uv_gets_the_settings_of_the_hosts_pip() -> None:
    told = uv_environment("[global]\nindex-url = https://index.invalid/simple\ncert = /c.pem\ndisable-pip-version-check = 1\n")
    assert told["UV_DEFAULT_INDEX"] == "https://index.invalid/simple"
    assert told["SSL_CERT_FILE"] == "/c.pem"
    assert uv_environment("").keys() == {"UV_SYSTEM_CERTS", "UV_PYTHON_DOWNLOADS"}
