"""`ddtree-ops exporter` as a process: what it serves, how it ends, what it says when it can't begin."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

MAIN = (sys.executable, "-c", "from ddtree_ops.cli import main; main()", "exporter")


def run(*words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([*MAIN, *words], capture_output=True, text=True, input=given, timeout=60, check=False)


def test_it_serves_tells_systemd_and_ends_at_once(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(str(tmp_path / "notify"))
        notify.settimeout(30)
        command = [*MAIN, "--listen", "127.0.0.1:0", "--state", str(tmp_path)]
        environment = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "PATH": "/usr/bin:/bin"}
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
            try:
                assert notify.recv(100) == b"READY=1"
                line = next(line for line in process.stderr or () if line.startswith("serving"))
                where = line.split()[-1]
                with urlopen(f"http://{where}/metrics", timeout=10) as answer:
                    text = answer.read().decode()
                resident = re.search(r"^process_resident_memory_bytes (\S+)$", text, re.M)
                assert resident
                assert float(resident[1]) < 40e6
                assert "ddtree_ops_build_info" in text
                with urlopen(f"http://{where}/healthz", timeout=10) as answer:
                    assert answer.read() == b"ok\n"
            finally:
                begin = time.monotonic()
                process.send_signal(signal.SIGTERM)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(30)
                process.kill()
            assert process.wait() == 0
            assert time.monotonic() - begin < 5


def test_what_can_not_be() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        done = run("--listen", where)
    assert done.returncode == 1
    assert f"can't listen on {where}: Address already in use" in done.stderr
    assert "fix: " in done.stderr
    assert run("--listen", "9736").returncode == 2


def test_a_hash_for_a_password() -> None:
    done = run("--hash-password", given="secret\nsecret\n")
    assert done.returncode == 0
    assert done.stdout.startswith("$scrypt$")
    assert "secret" not in done.stdout + done.stderr
