"""The file of --web-config, in the form of Prometheus' exporter-toolkit (docs/web-configuration.md there): TLS and basic auth.

What isn't known here is refused, not passed over: a setting that someone relies on must never be silently without effect.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ddtree_ops.errors import UsageError
from ddtree_ops.exporter.web.passwords import UnknownHashError, checker
from ddtree_ops.fleet.regular_file import open_regular

_TLS, _USERS = "tls_server_config", "basic_auth_users"
_TLS_KEYS = frozenset({"cert_file", "key_file", "min_version", "client_ca_file", "client_auth_type"})
_VERSIONS = ("TLS12", "TLS13")
_CLIENT_AUTH = ("NoClientCert", "RequireAndVerifyClientCert")
_MOST_USERS = 64


@dataclass(frozen=True)
class Tls:
    """Paths are absolute; without `client_ca` no certificate is asked of clients."""

    cert: Path
    key: Path
    min_version: str = "TLS12"
    client_ca: Path | None = None


@dataclass(frozen=True)
class WebConfig:
    """`users`: hashes by name, never shown."""

    tls: Tls | None = None
    users: Mapping[str, str] = field(default_factory=dict, repr=False)


def load(path: Path) -> WebConfig:
    """Raises UsageError: the file, the key, and what was expected; never a hash."""
    data = _mapping(_yaml(path), f"{path}", {_TLS, _USERS})
    config = WebConfig(  # a key without a value is refused, too: the rest of the file may be missing
        _tls(path, _mapping(data[_TLS], f"{path}: {_TLS}", _TLS_KEYS)) if _TLS in data else None,
        _users(path, data[_USERS]) if _USERS in data else {},
    )
    if config.users:
        refuse_open(path, "holds password hashes")
    if config.tls:
        for file in filter(None, (config.tls.cert, config.tls.client_ca)):
            with open_regular(file):  # OpenSSL, which reads it, would wait for the writer of a FIFO
                pass
        refuse_open(config.tls.key, "is the key of the certificate")
    return config


def refuse_open(path: Path, what: str) -> None:
    """Raises UsageError if other users may read or write a file, or if it is no regular one."""
    with open_regular(path) as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    if mode & (stat.S_IROTH | stat.S_IWOTH):
        raise UsageError(f"{path} {what}, but every user may read or write it (mode {mode:04o})", hint=f"chmod o-rw {path}")


def _yaml(path: Path) -> Any:
    from ddtree_ops.fleet.source import read_plain  # noqa: PLC0415 - PyYAML: a megabyte that is only needed with this file

    data = read_plain(path)
    if data is None:
        hint = "leave --web-config out, or write {}, if neither TLS nor passwords are wanted"
        raise UsageError(f"{path} is empty, as a file that was cut off would be", hint=hint)
    return data


def _mapping(data: Any, where: str, keys: set[str] | frozenset[str]) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise UsageError(f"{where}: expected keys and values")
    unknown = sorted(str(key)[:40] for key in data if key not in keys)
    if unknown:
        raise UsageError(f"{where}: unknown key {unknown[0]!a}", hint="known here: " + ", ".join(sorted(keys)))
    return data


def _tls(path: Path, data: Mapping[str, Any]) -> Tls:
    where = f"{path}: {_TLS}"
    version = _one_of(data.get("min_version", "TLS12"), _VERSIONS, f"{where}: min_version")
    auth = _one_of(data.get("client_auth_type", _CLIENT_AUTH[0]), _CLIENT_AUTH, f"{where}: client_auth_type")
    ca = data.get("client_ca_file")
    if (ca is not None) != (auth == _CLIENT_AUTH[1]):
        raise UsageError(f"{where}: client_ca_file and client_auth_type: {_CLIENT_AUTH[1]} need each other")
    files = [_file(path, data.get(key), f"{where}: {key}") for key in ("cert_file", "key_file")]
    return Tls(files[0], files[1], version, None if ca is None else _file(path, ca, f"{where}: client_ca_file"))


def _file(config: Path, value: Any, where: str) -> Path:
    """Relative names are taken from the configuration's own directory, as the toolkit takes them."""
    if not isinstance(value, str) or not value:
        raise UsageError(f"{where}: expected the path of a file")
    return Path(os.path.normpath(config.absolute().parent / value))


def _one_of(value: Any, known: tuple[str, ...], where: str) -> str:
    if value not in known:
        raise UsageError(f"{where}: expected one of {', '.join(known)}")
    return str(value)


def _users(path: Path, data: Any) -> dict[str, str]:
    where = f"{path}: {_USERS}"
    if not isinstance(data, dict) or not 0 < len(data) <= _MOST_USERS:
        raise UsageError(f"{where}: expected 1 to {_MOST_USERS} names with the hashes of their passwords")
    for name, hashed in data.items():
        if not isinstance(name, str) or not name or ":" in name or not isinstance(hashed, str):
            raise UsageError(f"{where}: expected a name without a colon, and the hash of its password as text")
        try:
            checker(hashed)
        except UnknownHashError as error:
            hint = "make one with `ddtree-ops exporter --hash-password`"
            raise UsageError(f"{where}: {ascii(name)[:60]}: {error}", hint=hint) from None
    return dict(data)
