"""Local mistakes on the way to a host are told as one line, in whatever thread they are met."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddtree_ops.adapters import early
from ddtree_ops.errors import Unreachable
from ddtree_ops.fleet.inventory import load_fleet
from ddtree_ops.ports import Command


@pytest.mark.parametrize("content", [None, b"Host \xff\xfe\n", b"Match nonsense\n"])
def test_an_ssh_config_that_cant_be_read_is_named(content: bytes | None, tmp_path: Path) -> None:
    config = tmp_path / "ssh_config"
    if content is not None:
        config.write_bytes(content)
    variables = f"{{ansible_host: 127.0.0.1, ansible_ssh_common_args: -F {config}}}"
    (tmp_path / "hosts.yml").write_text(f"all: {{hosts: {{here: {variables}}}}}\n")
    shell = early.begin([load_fleet(tmp_path / "hosts.yml").host("here")])["here"]
    with pytest.raises(Unreachable, match=str(config)):
        shell.run(Command(("true",)))
