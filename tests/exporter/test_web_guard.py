"""TLS and basic auth with real certificates and real hashes; files that change, and files that can't be."""

from __future__ import annotations

import base64
import os
import resource
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http.client import HTTPSConnection
from pathlib import Path

import bcrypt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from ddtree_ops.errors import UsageError
from ddtree_ops.exporter.web import guard as guards
from ddtree_ops.exporter.web import server
from ddtree_ops.exporter.web.address import Address
from ddtree_ops.exporter.web.config import WebConfig, load
from ddtree_ops.exporter.web.guard import Guard
from tests.exporter.test_web import ask, get, served

PASSWORD = "a pass: word"  # noqa: S105


@pytest.fixture(scope="module")
def hashed() -> str:
    """As cheap as bcrypt can be."""
    return bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """old.pem, old.key, new.pem, new.key"""
    directory = tmp_path_factory.mktemp("tls")
    for common_name in ("old", "new"):
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=2))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
            .sign(key, hashes.SHA256())
        )
        (directory / f"{common_name}.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (directory / f"{common_name}.key").write_bytes(private)
        (directory / f"{common_name}.key").chmod(0o600)
    return directory


def config(directory: Path, text: str | bytes, mode: int = 0o640) -> Path:
    path = directory / "web.yml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(mode)
    return path


def users(hashed: str) -> str:
    return f"basic_auth_users:\n  prometheus: '{hashed}'\n"


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


@pytest.fixture
def guarded(certificates: Path, hashed: str, tmp_path: Path) -> Iterator[tuple[int, Path]]:
    for suffix in ("pem", "key"):
        os.link(certificates / f"old.{suffix}", tmp_path / f"own.{suffix}")
    tls = "tls_server_config: {cert_file: own.pem, key_file: own.key, min_version: TLS13}\n"
    for port in served(Address("127.0.0.1", 0), config(tmp_path, tls + users(hashed)), frozenset()):
        yield port, tmp_path


def secured(port: int, ca: Path, headers: dict[str, str], version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> int:
    context = ssl.create_default_context(cafile=str(ca))
    context.maximum_version = version
    client = HTTPSConnection("localhost", port, timeout=5, context=context)
    client.request("GET", "/", headers=headers)
    status = client.getresponse().status
    client.close()
    return status


def test_tls_and_passwords(guarded: tuple[int, Path], certificates: Path) -> None:
    port, directory = guarded
    old, new = certificates / "old.pem", certificates / "new.pem"
    right = {"Authorization": basic("prometheus", PASSWORD)}
    assert secured(port, old, {}) == 401
    assert secured(port, old, right) == 200
    with suppress(ConnectionResetError):
        assert b"HTTP" not in ask(port, b"GET / HTTP/1.1\r\n\r\n")
    with pytest.raises(ssl.SSLError):
        secured(port, old, right, ssl.TLSVersion.TLSv1_2)
    for suffix in ("key", "pem"):
        (certificates / f"new.{suffix}").rename(directory / f"own.{suffix}")
    os.link(directory / "own.pem", new)
    assert secured(port, new, right) == 200
    with pytest.raises(ssl.SSLError):
        secured(port, old, right)
    (directory / "own.key").write_text("torn")
    assert secured(port, new, right) == 200  # what was there stays in force
    config(directory, "basic_auth_users: {}")
    assert secured(port, new, right) == 200


@pytest.mark.parametrize("key", ["a\\0b", "\\uD800", "fifo", ".", "absent", "own.pem"])
def test_a_key_that_can_not_be_read_ends_nothing(
    key: str, guarded: tuple[int, Path], certificates: Path, hashed: str, capfd: pytest.CaptureFixture[str]
) -> None:
    port, directory = guarded
    os.mkfifo(directory / "fifo", 0o600)
    config(directory, f'tls_server_config: {{cert_file: own.pem, key_file: "{key}", min_version: TLS13}}\n' + users(hashed))
    for _ in range(2):
        assert secured(port, certificates / "old.pem", {}) == 401
    assert capfd.readouterr().err.count("the former settings stay\n") == 1


def test_a_fifo_in_the_place_of_the_file_stops_nobody(guarded: tuple[int, Path], certificates: Path) -> None:
    port, directory = guarded
    (directory / "web.yml").unlink()
    os.mkfifo(directory / "web.yml", 0o600)
    assert secured(port, certificates / "old.pem", {}) == 401


def test_what_nobody_thought_of_ends_no_accepting(
    guarded: tuple[int, Path], certificates: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    port, directory = guarded
    monkeypatch.setattr(guards, "load", lambda _path: 1 // 0)
    config(directory, "{}")
    assert secured(port, certificates / "old.pem", {}) == 401
    assert "can't be used: ZeroDivisionError; the former settings stay" in capfd.readouterr().err
    monkeypatch.setattr(Guard, "refresh", lambda _self: 1 // 0)
    with pytest.raises(OSError, match=r".*"):  # that one connection is closed
        secured(port, certificates / "old.pem", {})
    monkeypatch.undo()
    assert secured(port, certificates / "old.pem", {}) == 401


def test_files_that_take_for_ever_hold_nobody_up(
    guarded: tuple[int, Path], certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, directory = guarded
    reading, go_on = threading.Event(), threading.Event()

    def load_slowly(path: Path) -> WebConfig:
        reading.set()
        go_on.wait(20)
        return load(path)

    monkeypatch.setattr(guards, "load", load_slowly)
    monkeypatch.setattr(server, "REREAD_SECONDS", 0.1)
    config(directory, (directory / "web.yml").read_text() + "# another word\n")
    for _ in range(3):
        assert secured(port, certificates / "old.pem", {}) == 401
    assert reading.is_set()
    go_on.set()


def test_a_file_that_asks_for_nothing_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for port in served(Address("127.0.0.1", 0), config(tmp_path, "{}")):
        assert get(port, "/")[0] == 200
    assert "asks for neither TLS nor passwords" in capfd.readouterr().err


@pytest.mark.parametrize(
    "left",
    [
        "",
        "# all of it a remark\n",
        "---\n",
        "null\n",
        "{}\n",
        "tls_server_config:\n",
        "TLS",
        "TLSbasic_auth_users:\n",
        "USERS",
        "TLS12USERS",
    ],
)
def test_what_is_left_of_a_cut_file_takes_no_protection_away(
    left: str, certificates: Path, hashed: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plain = f"tls_server_config: {{cert_file: {certificates}/old.pem, key_file: {certificates}/old.key}}\n"
    tls = plain.replace("}", ", min_version: TLS13}")
    parts = {"TLS12": plain, "TLS": tls, "USERS": users(hashed)}
    guard = Guard(config(tmp_path, tls + parts["USERS"]))
    before = guard.config
    for name, part in parts.items():
        left = left.replace(name, part)
    config(tmp_path, left)
    guard.refresh()
    context = guard.tls
    assert context is not None
    assert context.minimum_version == ssl.TLSVersion.TLSv1_3
    assert guard.config == before
    assert not guard.allows(None)
    assert capfd.readouterr().err.endswith("the former settings stay\n")
    if not left.startswith(("{", "tls_server_config: {", "basic_auth_users: {")) and "$2b$" not in left:
        with pytest.raises(UsageError):  # and a restart in that state doesn't open it either
            Guard(tmp_path / "web.yml")


def test_more_protection_is_taken_at_once_and_users_may_go(tmp_path: Path, hashed: str) -> None:
    guard = Guard(config(tmp_path, "{}"))
    two = f"basic_auth_users: {{a: '{hashed}', b: '{hashed}'}}"
    for text, known in ((two, {"a", "b"}), (f"basic_auth_users: {{b: '{hashed}'}}", {"b"})):
        config(tmp_path, text)
        guard.refresh()
        assert set(guard.config.users) == known


def test_a_file_that_becomes_usable_without_another_word_in_it_is_taken(tmp_path: Path, hashed: str) -> None:
    guard = Guard(config(tmp_path, "{}"))
    path = config(tmp_path, users(hashed), 0o644)
    guard.refresh()
    assert not guard.config.users  # refused: every user may read it
    path.chmod(0o640)
    guard.refresh()
    assert guard.config.users


def test_a_reading_that_failed_is_tried_again(tmp_path: Path, hashed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    guard = Guard(config(tmp_path, "{}"))
    config(tmp_path, users(hashed))
    monkeypatch.setattr(guards, "RETRY_SECONDS", 0.0)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limit[1]))
    try:
        guard.refresh()
        assert not guard.config.users
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    guard.refresh()
    assert guard.config.users


def test_a_handshake_that_is_not_made_holds_nobody_up(guarded: tuple[int, Path], certificates: Path) -> None:
    with socket.create_connection(("127.0.0.1", guarded[0]), 5):
        assert secured(guarded[0], certificates / "old.pem", {}) == 401


def test_files_that_others_may_read_are_refused(tmp_path: Path, hashed: str, certificates: Path) -> None:
    with pytest.raises(UsageError, match=r"every user may read or write it \(mode 0644\)") as raised:
        load(config(tmp_path, users(hashed), 0o644))
    assert "chmod o-rw" in str(raised.value.hint)
    key = tmp_path / "open.key"
    key.write_bytes((certificates / "old.key").read_bytes())
    key.chmod(0o604)
    with pytest.raises(UsageError, match=r"open\.key is the key of the certificate, but"):
        load(config(tmp_path, f"tls_server_config: {{cert_file: {certificates}/old.pem, key_file: open.key}}"))
    assert load(config(tmp_path, "{}", 0o644)).users == {}
