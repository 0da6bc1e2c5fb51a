"""`ddtree-ops exporter` as a process: what it serves, how it ends, what it says when it can't begin."""

from __future__ import annotations

import os
import pty
import pwd
import re
import signal
import socket
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from click.testing import CliRunner

from ddtree_ops.cli.exporter import command
from ddtree_ops.errors import UsageError
from ddtree_ops.exporter.web.passwords import make_hash

pytestmark = pytest.mark.processes

MAIN = (sys.executable, "-c", "from ddtree_ops.cli import main; main()", "exporter")


def announced(process: subprocess.Popen[str]) -> str:
    """The address. Other threads may have written into the same line."""
    assert process.stderr is not None
    return next(found[1] for line in process.stderr if (found := re.search(r"serving on (\S+:\d+)", line)))


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
                where = announced(process)
                with urlopen(f"http://{where}/metrics", timeout=10) as answer:
                    text = answer.read().decode()
                resident = re.search(r"^process_resident_memory_bytes (\S+)$", text, re.M)
                assert resident
                assert float(resident[1]) < 40e6
                assert "ddtree_ops_build_info" in text
                with urlopen(f"http://{where}/healthz", timeout=10) as answer:
                    assert answer.read() == b"ok\n"
            finally:
                process.send_signal(signal.SIGTERM)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(30)
                process.kill()
            assert process.wait() == 0


@contextmanager
def serving(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that has begun to serve, and its address."""
    with subprocess.Popen([*MAIN, "--listen", "127.0.0.1:0", *words], stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process, announced(process)
        finally:
            process.kill()


def status(where: str, path: str = "/healthz") -> int:
    try:
        with urlopen(f"http://{where}{path}", timeout=10) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


def test_a_hangup_has_the_files_read_again(tmp_path: Path) -> None:
    """As Prometheus' own programs do, and it goes on however often it is told."""
    web, inventory = tmp_path / "web.yml", tmp_path / "hosts.yml"
    web.write_text("{}")
    web.chmod(0o600)
    inventory.write_text("all: {hosts: {a: {ddtree_hardware: b300-8x, ddtree_serving: {model: {path: /m}}}}}\n")
    with serving("--web-config", str(web), "--inventory", str(inventory)) as (process, where):
        assert status(where) == status(where, "/sd") == 200
        web.write_text(f"basic_auth_users: {{a: '{make_hash('secret')}'}}")
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGHUP)
        end = time.monotonic() + 60
        while status(where) != 401:
            assert time.monotonic() < end
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def test_a_terminal_that_is_closed_ends_it() -> None:
    master, slave = pty.openpty()
    command = ["setsid", "--ctty", *MAIN, "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=subprocess.PIPE, text=True) as process:
        os.close(slave)
        try:
            assert announced(process)
            os.close(master)
            assert process.wait(15) == 0
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("/proc/nope", "No such file or directory"),
        ("/proc/self", "Operation not permitted|No such file|Permission denied"),
        ("{tmp}/file", "File exists|Not a directory"),
        ("{tmp}/file/below", "Not a directory"),
        ("{tmp}/theirs", "belongs to user nobody, not to user "),
    ],
)
@pytest.mark.parametrize("mode", ["local", "once", "controller"])
def test_a_directory_of_state_that_can_not_be(tmp_path: Path, place: str, said: str, mode: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", pwd.getpwnam("nobody").pw_uid, -1)
    inventory = tmp_path / "hosts.yml"
    inventory.write_text("all: {hosts: {a: {ddtree_serving: {}}}}\n")
    more = {"local": (), "once": ("--once",), "controller": ("--inventory", str(inventory), "--group", "all")}[mode]
    done = CliRunner().invoke(command, ["--listen", "127.0.0.1:0", "--state", place.format(tmp=tmp_path), *more])
    assert isinstance(done.exception, UsageError)
    assert done.exception.exit_code == 2
    assert re.search(f"the state directory .*({said})", done.exception.message)
    assert done.exception.hint


def test_a_wrong_directory_is_told_in_words() -> None:
    done = run("--state", "/proc/nope")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "error: the state directory /proc/nope" in done.stderr
    assert "fix: " in done.stderr


def test_a_file_in_the_place_of_a_hosts_directory_is_told(tmp_path: Path) -> None:
    inventory = tmp_path / "hosts.yml"
    inventory.write_text("all: {hosts: {a: {ddtree_serving: {}}}}\n")
    (tmp_path / "state" / "hosts").mkdir(parents=True)
    (tmp_path / "state" / "hosts" / "a").write_text("")
    words = ["--listen", "127.0.0.1:0", "--state", str(tmp_path / "state"), "--inventory", str(inventory), "--group", "all"]
    assert isinstance(CliRunner().invoke(command, words).exception, UsageError)


def test_wrong_passwords_leave_no_memory_behind(tmp_path: Path) -> None:
    web = tmp_path / "web.yml"
    web.write_text(f"basic_auth_users: {{a: '{make_hash('right')}'}}")
    web.chmod(0o600)
    with serving("--web-config", str(web)) as (process, where), ThreadPoolExecutor(4) as pool:

        def wrong(number: int) -> int:
            request = Request(f"http://{where}/", headers={"Authorization": f"Basic {b64encode(b'a:%d' % number).decode()}"})
            try:
                with urlopen(request, timeout=10) as answer:  # noqa: S310 - our own address
                    return int(answer.status)
            except HTTPError as error:
                return error.code

        assert wrong(0) == 401
        before = resident(process.pid)
        assert set(pool.map(wrong, range(1, 25))) <= {401, 503}
        assert resident(process.pid) - before < 6_000


def ask(where: str, path: str) -> socket.socket:
    host, port = where.split(":")
    client = socket.create_connection((host, int(port)), 10)
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return client


def test_it_stays_small_and_ends_at_once_with_streams_open() -> None:
    """Sixteen streams, and forty connections that try for one."""
    with serving() as (process, where), ExitStack() as clients:
        assert status(where, "/") == 200
        streams = [clients.enter_context(ask(where, "/events")) for _ in range(16)]
        assert all(stream.recv(12) == b"HTTP/1.1 200" for stream in streams)
        more = [clients.enter_context(ask(where, "/events")) for _ in range(40)]
        assert all(client.recv(12) == b"HTTP/1.1 503" for client in more)
        deadline = time.monotonic() + 60
        while resident(process.pid) * 1024 >= 40e6:  # what compiling templates took is given back after some seconds
            assert time.monotonic() < deadline
            time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0
        assert process.stderr is not None
        assert not re.search("handler failed|Traceback", process.stderr.read())


def resident(pid: int) -> int:
    """KiB."""
    found = re.search(r"^VmRSS:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.M)
    assert found
    return int(found[1])


def test_what_can_not_be() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        done = run("--listen", where)
    assert done.returncode == 1
    assert f"can't listen on {where}: Address already in use" in done.stderr
    assert "fix: " in done.stderr
    assert run("--listen", "9736").returncode == 2


def test_a_web_config_is_only_checked(tmp_path: Path) -> None:
    path = tmp_path / "web.yml"
    path.write_text("{}")
    assert run("--check-web-config", str(path)).returncode == 0
    path.write_text("basic_auth_user: {a: hash-of-a}")
    refused = run("--check-web-config", str(path))
    assert refused.returncode == 2
    assert "unknown key 'basic_auth_user'" in refused.stderr
    assert "hash-of-a" not in refused.stdout + refused.stderr


def test_a_hash_for_a_password() -> None:
    done = run("--hash-password", given="secret\nsecret\n")
    assert done.returncode == 0
    assert done.stdout.startswith("$2b$")
    assert "secret" not in done.stdout + done.stderr
