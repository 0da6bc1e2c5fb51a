"""The host's pip settings reach uv: read from the real pip, in uv's words."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.roles.staging import part

pytestmark = pytest.mark.processes

index: Any = part("index")


def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pip_conf: str) -> dict[str, str]:
    """uv's environment for a pip.conf; the null device turns all of pip's configuration off."""
    config = Path(os.devnull)
    if pip_conf:
        config = tmp_path / "pip.conf"
        config.write_text(pip_conf)
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    found: dict[str, str] = index.uv_environment(index.PipConfig(Path(sys.executable)).read())
    return found


def test_index_certificates_and_lists_in_uvs_own_spelling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conf = """[global]
index-url = http://user:pass@index.example/simple
extra-index-url = file:///a
    file:///b
find-links = /wheels /more
trusted-host = index.example other.example:8080
cert = /etc/ca.pem
[install]
index-url = http://install.example/simple
"""
    found = environment(tmp_path, monkeypatch, conf)
    assert found["UV_DEFAULT_INDEX"] == "http://install.example/simple", "[install] overrides [global], as in pip"
    assert found["UV_INDEX"] == "file:///a file:///b"
    assert found["UV_FIND_LINKS"] == "/wheels,/more"
    assert found["UV_INSECURE_HOST"] == "index.example other.example:8080"
    assert found["SSL_CERT_FILE"] == "/etc/ca.pem"
    assert found["UV_SYSTEM_CERTS"] == "1"


def test_without_settings_uv_keeps_its_own_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = environment(tmp_path, monkeypatch, "")
    assert "UV_DEFAULT_INDEX" not in found
    assert "UV_INDEX" not in found


def test_offline_no_index_is_named() -> None:
    assert not {"UV_DEFAULT_INDEX", "UV_FIND_LINKS"} & set(index.uv_environment(None))


def test_a_pip_that_fails_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(part("problem").Problem, match="pip config list"):
        environment(tmp_path, monkeypatch, "[global\n")
