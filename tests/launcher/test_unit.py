"""The unit as the role renders it, in the eyes of systemd itself."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import jinja2
import pytest

TEMPLATE = Path(__file__).parents[2] / "roles" / "service" / "templates" / "ddtree-server@.service.j2"


def render(**variables: Any) -> str:
    # as Ansible's template module does it
    environment = jinja2.Environment(trim_blocks=True, undefined=jinja2.StrictUndefined, autoescape=False)  # noqa: S701 - not HTML
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(**variables)


def settings(unit: str) -> dict[str, list[str]]:
    found = defaultdict(list)
    for line in unit.splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found[name].append(value)
    return found


def test_restarts_stop_even_if_each_load_takes_its_whole_budget() -> None:
    unit = settings(render(service_load_budget_s=1800, service_drain_s=60))
    number = {name: int(unit[name][0]) for name in ("StartLimitBurst", "StartLimitIntervalSec", "RestartSec", "TimeoutStopSec")}
    one_start = 1800 + number["TimeoutStopSec"] + number["RestartSec"]
    assert number["StartLimitIntervalSec"] > number["StartLimitBurst"] * one_start
    assert number["TimeoutStopSec"] > 60 + 10 + 10  # drain, its margin, and the launcher's wait for the killed
    assert unit["RestartPreventExitStatus"] == ["78"]


def test_credentials_are_named_and_never_written() -> None:
    text = render(release_credentials=[{"name": "api_key", "value": "k3y"}, {"name": "hf_token", "value": "t0ken"}])
    assert settings(text)["LoadCredential"] == [
        "api_key:/opt/ddtree/current/credentials/api_key",
        "hf_token:/opt/ddtree/current/credentials/hf_token",
    ]
    assert "k3y" not in text
    assert "t0ken" not in text


def test_the_working_directory_tells_the_release_and_nothing_is_imported_from_it() -> None:
    unit = settings(render())
    assert unit["WorkingDirectory"] == ["/opt/ddtree/current"]
    (command,) = unit["ExecStart"]
    assert command.startswith("/opt/ddtree/current/venv/bin/python -P -m sglang_ddtree.launcher ")


def test_no_cache_of_a_compiler_and_no_switch_of_sglang_is_set_beside_the_launcher() -> None:
    set_here = {pair.split("=")[0] for line in settings(render())["Environment"] for pair in line.split()}
    assert set_here == {"PYTHONUNBUFFERED", "PYTHONNOUSERSITE", "PYTHONDONTWRITEBYTECODE", "HOME", "XDG_CACHE_HOME"}


@pytest.mark.processes
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_systemd_accepts_every_line(tmp_path: Path) -> None:
    python = tmp_path / "current" / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    path = tmp_path / "ddtree-server@30000.service"
    text = render(service_root=str(tmp_path), service_user="root", release_credentials=[{"name": "api_key"}])
    path.write_text(text, encoding="utf-8")
    done = subprocess.run(
        ("systemd-analyze", "verify", "--man=no", str(path)), capture_output=True, text=True, timeout=30, check=False
    )
    complaints = [line for line in done.stderr.splitlines() if "ddtree-server" in line]
    assert not complaints
