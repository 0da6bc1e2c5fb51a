"""`ddtree_monitoring`, and the outline of a server that is read without the rest of its spec."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ddtree_ops.errors import InvalidInventory
from ddtree_ops.fleet import outline
from ddtree_ops.fleet.inventory import Host, load_fleet
from ddtree_ops.fleet.monitoring import MonitoringSettings, settings_reference
from ddtree_ops.fleet.spec import ServingSpec

HEAD = "ddtree_hardware: b300-8x\nddtree_serving: {model: {path: /m}}\n"


def _host(tmp_path: Path, text: str) -> Host:
    folder = tmp_path / "host_vars"
    folder.mkdir()
    (tmp_path / "hosts.yml").write_text("all: {hosts: {h: {}}}\n")
    (folder / "h.yml").write_text(text)
    return load_fleet(tmp_path).host("h")


def test_settings_are_read(tmp_path: Path) -> None:
    host = _host(tmp_path, HEAD + "ddtree_monitoring: {address: 10.0.0.7, mode: controller, node_port: null, dcgm_port: 9400}\n")
    assert host.monitoring == MonitoringSettings(address="10.0.0.7", mode=host.monitoring.mode, node_port=None, dcgm_port=9400)
    assert host.monitoring.mode == "controller"
    assert host.serving.port == 30000


def test_without_a_word_there_are_defaults(tmp_path: Path) -> None:
    assert _host(tmp_path, HEAD + "ddtree_monitoring:\n").monitoring == MonitoringSettings()


MISTAKES = [
    ("[1]", "ddtree_monitoring: expected a mapping, got a list"),
    ("'{{ x }}'", "ddtree_monitoring: expected a mapping, got a Jinja template, which only Ansible can evaluate"),
    ("{adress: h}", "ddtree_monitoring.adress: unknown key; did you mean 'address'?"),
    ("{exporter_port: '9736'}", "ddtree_monitoring.exporter_port: expected a port from 1 to 65535, got text"),
    ("{node_port: 0}", "ddtree_monitoring.node_port: expected a port from 1 to 65535, got another number"),
    ("{dcgm_port: true}", "ddtree_monitoring.dcgm_port: expected a port from 1 to 65535, got a yes/no value"),
    (
        "{address: 'h:9736'}",
        "ddtree_monitoring.address: expected a host's name or IP address without port, got text that is neither",
    ),
    ("{scheme: htps}", "ddtree_monitoring.scheme: expected http or https; did you mean 'https'?"),
    ("{mode: [on_host]}", "ddtree_monitoring.mode: expected on_host or controller, got a list"),
]


@pytest.mark.parametrize(("value", "message"), MISTAKES)
def test_a_mistake_has_its_line_and_refuses_the_spec_like_any_other(value: str, message: str, tmp_path: Path) -> None:
    host = _host(tmp_path, HEAD + f"ddtree_monitoring: {value}\n")
    for read in (lambda: host.monitoring, lambda: host.serving):
        with pytest.raises(InvalidInventory) as caught:
            read()
        assert caught.value.message == f"{tmp_path}/host_vars/h.yml:3: {message}"


def test_a_misspelt_variable_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInventory, match="unknown variable; did you mean 'ddtree_monitoring'"):
        _ = _host(tmp_path, HEAD + "ddtree_monitring: {}\n").serving


def test_every_key_is_documented_and_has_a_reader() -> None:
    from ddtree_ops.fleet import monitoring

    fields = MonitoringSettings.__dataclass_fields__
    assert set(monitoring._READERS) == set(fields)
    assert settings_reference().count("\n") == len(fields) + 2


def test_outline_has_the_defaults_and_the_range_of_the_spec() -> None:
    port = ServingSpec.model_fields["port"]
    assert (port.default, ServingSpec.model_fields["listen"].default) == (outline.DEFAULT_PORT, outline.DEFAULT_LISTEN)
    assert {one.ge if hasattr(one, "ge") else one.le for one in port.metadata} == {outline.PORTS[0], outline.PORTS[-1]}


def test_outline_is_read_where_the_rest_of_the_spec_is_wrong(tmp_path: Path) -> None:
    host = _host(tmp_path, "ddtree_serving: {port: 31000, listen: '::', model: {path: /a/kimi/}, drain: never, smoke: 7}\n")
    assert (host.outline.port, host.outline.is_wide, host.outline.model) == (31000, True, "kimi")
    with pytest.raises(InvalidInventory):
        _ = host.serving


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("{port: 80}", "h.yml:1: ddtree_serving.port: expected a whole number from 1024 to 55535"),
        ("{listen: everywhere}", "h.yml:1: ddtree_serving.listen: expected an IP address such as 127.0.0.1, or localhost"),
        ("[]", "h.yml:1: ddtree_serving: expected a mapping, got a list"),
    ],
)
def test_what_hides_the_server_is_told_with_its_line(spec: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInventory, match=message.replace("[", r"\[")):
        _ = _host(tmp_path, f"ddtree_serving: {spec}\n").outline


@pytest.mark.processes
def test_discovery_imports_no_pydantic() -> None:
    """It runs in the exporter, which has 40 MB."""
    program = "import sys, ddtree_ops.exporter.discovery; sys.exit(bool({'pydantic', 'jinja2', 'paramiko'} & set(sys.modules)))"
    assert subprocess.run((sys.executable, "-c", program), check=False).returncode == 0
