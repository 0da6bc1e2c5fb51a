"""What a web config can't be, and that the words for it show no secrets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ddtree_ops.errors import UsageError
from ddtree_ops.exporter.web.config import load
from tests.exporter.test_web_guard import config
from tests.hang import ends

CLIENT_CA = (
    "tls_server_config: {cert_file: web.yml, key_file: web.yml, client_ca_file: fifo,"
    " client_auth_type: RequireAndVerifyClientCert}"
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("basic_auth_users: [", r"web.yml:1: .*end of stream|web.yml:\d: "),
        ("[" * 5000, "web.yml:1: .*maximum nesting|nested too deeply"),
        ("- a", "expected keys and values"),
        ("rate_limit: {}", "unknown key 'rate_limit'"),
        ("tls_server_config: {cert_file: a, key_file: b, cipher_suites: []}", "unknown key 'cipher_suites'"),
        ("tls_server_config: {cert_file: a}", "key_file: expected the path"),
        ("tls_server_config: {cert_file: a, key_file: b, min_version: TLS10}", "min_version: expected one of"),
        ("tls_server_config: {cert_file: a, key_file: b, client_ca_file: c}", "need each other"),
        ("tls_server_config: {cert_file: web.yml, key_file: absent}", "absent: can't be read: No such file"),
        ('tls_server_config: {cert_file: web.yml, key_file: "a\\0b"}', "can't be a path"),
        ('tls_server_config: {cert_file: web.yml, key_file: "\\uD800"}', "invalid Unicode"),
        ("tls_server_config: {cert_file: fifo, key_file: web.yml}", "fifo: is a FIFO, not a regular file"),
        ("tls_server_config: {cert_file: web.yml, key_file: fifo}", "fifo: is a FIFO, not a regular file"),
        (CLIENT_CA, "fifo: is a FIFO, not a regular file"),
        ("basic_auth_users: {a: x}\nbasic_auth_users: {b: x}", "web.yml:2: basic_auth_users: repeats the key of line 1"),
        ("basic_auth_users: {a: x, a: y}", "web.yml:1: a: repeats the key of line 1"),
        (b"basic_auth_users:\n  \xe9: x", "web.yml:2: is not UTF-8 text"),
        (b"\x7fELF\x02\x01", "web.yml:1: is not YAML: unacceptable character"),
        ("", "is empty, as a file that was cut off"),
        ("basic_auth_users:", "expected 1 to 64 names"),
        ("tls_server_config:", "tls_server_config: expected keys"),
        ("basic_auth_users: {a: 2026-99-99}", "looks like a number or date, but isn't one"),
        ("basic_auth_users: {a: !!bool maybe}", "looks like a number or date, but isn't one"),
        ("basic_auth_users: {}", "expected 1 to 64 names"),
        ("basic_auth_users: {a: hunter2}", "'a': no hash of bcrypt"),
        (f"basic_auth_users: {{a: '$2b$31${'a' * 53}'}}", "a cost from 04 to 15"),  # a day for each password
        (f"basic_auth_users: {{a: '$2b$10${'a' * 21}z{'a' * 31}'}}", "'a': a hash of bcrypt with a salt that can't be"),
        ("basic_auth_users: {'a:b': hunter2}", "a name without a colon"),
    ],
)
def test_what_a_config_can_not_be(text: str | bytes, said: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo", 0o600)
    with ends(), pytest.raises(UsageError, match=said) as raised:
        load(config(tmp_path, text))
    assert "hunter2" not in f"{raised.value.message} {raised.value.hint}"
