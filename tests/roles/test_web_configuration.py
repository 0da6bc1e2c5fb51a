"""Role `monitoring`: certificate and key reach the exporter as credentials, so that nobody but root has to read their files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.processes

VARS = Path(__file__).resolve().parents[2] / "roles" / "monitoring" / "vars" / "main.yml"
USERS = {"prometheus": "$2b$10$hash"}


def _written(tmp_path: Path, config: str) -> tuple[dict[str, str], str]:
    """The files that become credentials, and the text that the exporter reads."""
    shown = "{{ {'files': monitoring_web_files, 'text': monitoring_web_written} | to_json }}"
    copy = {"ansible.builtin.copy": {"content": shown, "dest": str(tmp_path / "out")}}
    play = {"hosts": "localhost", "gather_facts": False, "vars_files": [str(VARS)], "vars": {"monitoring_web_config": config}}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([{**play, "tasks": [copy]}]))
    (tmp_path / "ansible.cfg").write_text("[defaults]\n")
    argv = (str(Path(sys.executable).parent / "ansible-playbook"), "-c", "local", "-i", "localhost,", "play.yml")
    environment = {**os.environ, "ANSIBLE_CONFIG": str(tmp_path / "ansible.cfg"), "ANSIBLE_PYTHON_INTERPRETER": sys.executable}
    done = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout
    found = json.loads((tmp_path / "out").read_text())
    return found["files"], found["text"]


def test_files_are_handed_over_under_the_names_of_their_keys(tmp_path: Path) -> None:
    tls = {"cert_file": "/c/host.pem", "key_file": "/c/host.key", "min_version": "TLS13"}
    files, text = _written(tmp_path, yaml.safe_dump({"tls_server_config": tls, "basic_auth_users": USERS}))
    assert files == {"cert_file": "/c/host.pem", "key_file": "/c/host.key"}
    tls = {"cert_file": "cert_file", "key_file": "key_file", "min_version": "TLS13"}
    assert yaml.safe_load(text) == {"tls_server_config": tls, "basic_auth_users": USERS}


def test_without_files_it_stays_as_it_is(tmp_path: Path) -> None:
    config = 'basic_auth_users: {prometheus: "$2b$10$hash"}  # mine\n'
    assert _written(tmp_path, config) == ({}, config)
