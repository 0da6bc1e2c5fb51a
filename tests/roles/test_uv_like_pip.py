"""roles/runtime/files/uv_like_pip.py: the host's pip settings reach uv, and by the environment alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "roles" / "runtime" / "files" / "uv_like_pip.py"
SHOW = "import json, os, sys; print(json.dumps({'env': dict(os.environ), 'argv': sys.argv[1:], 'umask': os.umask(0)}))"


def environment(tmp_path: Path, pip_conf: str, *args: str) -> dict[str, str]:
    """What a program in uv's place is given."""
    # The null device turns all of pip's configuration off, also that of the machine which runs this test.
    config = Path(os.devnull)
    if pip_conf:
        config = tmp_path / "pip.conf"
        config.write_text(pip_conf)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_", "SSL_"))}
    done = subprocess.run(
        (sys.executable, "-", sys.executable, "-c", SHOW, *args),
        stdin=PROGRAM.open(),
        env=kept | {"PIP_CONFIG_FILE": str(config)},
        capture_output=True,
        check=True,
        timeout=30,
    )
    answer = json.loads(done.stdout)
    assert answer["argv"] == list(args), "settings do not travel in the argument list"
    assert answer["umask"] == 0o022
    return {name: value for name, value in answer["env"].items() if name.startswith(("UV_", "SSL_", "HTTPS_PROXY"))}


def test_index_certificates_and_lists_in_uvs_own_spelling(tmp_path: Path) -> None:
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
    found = environment(tmp_path, conf)
    assert found["UV_DEFAULT_INDEX"] == "http://install.example/simple", "[install] overrides [global], as in pip"
    assert found["UV_INDEX"] == "file:///a file:///b"
    assert found["UV_FIND_LINKS"] == "/wheels,/more"
    assert found["UV_INSECURE_HOST"] == "index.example other.example:8080"
    assert found["SSL_CERT_FILE"] == "/etc/ca.pem"
    assert found["UV_SYSTEM_CERTS"] == "1"


def test_without_settings_uv_keeps_its_own_defaults(tmp_path: Path) -> None:
    found = environment(tmp_path, "")
    assert "UV_DEFAULT_INDEX" not in found
    assert "UV_INDEX" not in found


def test_offline_no_index_is_named(tmp_path: Path) -> None:
    conf = "[global]\nindex-url = http://user:pass@index.example/simple\nfind-links = /wheels\n"
    assert not {"UV_DEFAULT_INDEX", "UV_FIND_LINKS"} & set(environment(tmp_path, conf, "--offline"))
