"""Who may ask, and over what: TLS and basic auth by the file of --web-config, read again whenever it or a certificate changed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import ssl
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from ddtree_ops.errors import UsageError
from ddtree_ops.exporter import log
from ddtree_ops.exporter.web.config import Tls, WebConfig, load
from ddtree_ops.exporter.web.passwords import checker

_MOST_REMEMBERED = 256
_LONGEST_HEADER = 4096
RETRY_SECONDS = 5.0
_Stamp = tuple[tuple[str, int, int, int, int], ...]


class Guard:
    """Whether there was a change is asked at each connection, outside of the event loop: it reads files.

    A change that can't be used is logged, and what was there before stays in force.
    So does one that would take protection away: a file that is being written, or was cut off by a full disk, looks just like it.
    """

    def __init__(self, path: Path | None) -> None:
        """Raises UsageError for a file that can't be used."""
        self._path = path
        self._lock = threading.Lock()
        self._stamp: _Stamp = ()
        self._problem = ""
        self._again_at = 0.0
        self.config = WebConfig()
        self._context: ssl.SSLContext | None = None
        self._passwords = _Passwords({})
        if path is not None:
            self._read(path)
            if self.config == WebConfig():
                _log(f"{path} asks for neither TLS nor passwords: whoever reaches the port is served, in plain HTTP")

    @property
    def authenticates(self) -> bool:
        """A password or a client's certificate is asked for."""
        return bool(self.config.users) or bool(self.config.tls and self.config.tls.client_ca)

    @property
    def follows(self) -> bool:
        """There is a file: refresh() may find another one."""
        return self._path is not None

    @property
    def tls(self) -> ssl.SSLContext | None:
        """For a new connection, as last read; None for plain HTTP."""
        return self._context

    def knows(self, authorization: str | None) -> bool | None:
        """Is this an Authorization header of one of the users, as far as that can be told at once? True if there are none."""
        return self._passwords.known(authorization or "") if self.config.users else True

    def allows(self, authorization: str | None) -> bool:
        """The same, worked out if need be, which takes a good part of a second."""
        return not self.config.users or self._passwords.right(authorization or "")

    def refresh(self, *, now: bool = False) -> None:
        """Read the files if one of them changed, or in any case. What failed is tried again: its reason may pass by itself."""
        if self._path is None or not self._lock.acquire(blocking=now):
            return  # somebody reads them already, and maybe for long: a file of a server that doesn't answer
        try:
            self._refresh(self._path, now)
        finally:
            self._lock.release()

    def _refresh(self, path: Path, now: bool) -> None:
        stamp = self._stamped(path)
        due = bool(self._problem) and time.monotonic() >= self._again_at
        if stamp == self._stamp and not now and not due:
            return
        self._stamp, self._again_at = stamp, time.monotonic() + RETRY_SECONDS
        problem = ""
        try:
            self._read(path)
        except UsageError as error:
            problem = f"{error.message}; the former settings stay"
        if problem and problem != self._problem:
            _log(problem)
        self._problem = problem

    def _read(self, path: Path) -> None:
        """Whatever is wrong with the files is a UsageError: nothing that they hold may end the server."""
        try:
            self._take(path)
        except UsageError:
            raise
        except Exception as error:
            raise UsageError(f"{path} can't be used: {type(error).__name__}") from error

    def _take(self, path: Path) -> None:
        config = load(path)
        weaker = _weaker(config, self.config)
        if weaker:
            raise UsageError(f"{path} {weaker}, which takes a restart")
        context = None if config.tls is None else _context(config.tls)
        passwords = self._passwords if config.users == self.config.users else _Passwords(config.users)
        self.config, self._context, self._passwords = config, context, passwords
        self._stamp = self._stamped(path)

    def _stamped(self, path: Path) -> _Stamp:
        tls = self.config.tls
        files = (path, tls.cert, tls.key, tls.client_ca) if tls else (path,)
        return tuple(_stat(file) for file in files if file is not None)


def _weaker(new: WebConfig, old: WebConfig) -> str:
    """What the new settings no longer ask for; empty if nothing."""
    if old.tls and not new.tls:
        return "no longer asks for TLS"
    if old.users and not new.users:
        return "no longer asks for passwords"
    if old.tls and new.tls and old.tls.client_ca and not new.tls.client_ca:
        return "no longer asks clients for certificates"
    if old.tls and new.tls and new.tls.min_version < old.tls.min_version:
        return f"lets {new.tls.min_version} in again"
    return ""


def _log(text: str) -> None:
    log.line(f"--web-config: {text}")


class _Passwords:
    """Checks hashes, and remembers what was right: bcrypt takes a good part of a second on purpose."""

    def __init__(self, users: Mapping[str, str]) -> None:
        self._checks = {name: checker(hashed) for name, hashed in users.items()}
        # As slow as a right name's, so that the time doesn't tell which names there are.
        self._nobody = next(iter(self._checks.values()), lambda _password: False)
        self._key = os.urandom(32)
        self._right: set[bytes] = set()

    def known(self, authorization: str) -> bool | None:
        """None if it has to be worked out."""
        name, password = _basic(authorization)
        # A digest of a key that nobody knows: what the time tells of it is worth nothing.
        return False if name is None else True if self._digest(name, password) in self._right else None

    def right(self, authorization: str) -> bool:
        known, (name, password) = self.known(authorization), _basic(authorization)
        if known is not None or name is None:
            return bool(known)
        check = self._checks.get(name)
        if not (check or self._nobody)(password) or check is None:
            return False
        if len(self._right) < _MOST_REMEMBERED:
            self._right.add(self._digest(name, password))
        return True

    def _digest(self, name: str, password: str) -> bytes:
        return hmac.digest(self._key, f"{name}:{password}".encode("utf-8", "surrogateescape"), hashlib.sha256)


def _basic(authorization: str) -> tuple[str | None, str]:
    """Name and password of `Basic <base64>` (RFC 7617); no name for anything else."""
    scheme, _, encoded = authorization.strip().partition(" ")
    if scheme.lower() != "basic" or len(encoded) > _LONGEST_HEADER:
        return None, ""
    try:
        decoded = base64.b64decode(encoded.strip(), validate=True).decode("utf-8", "surrogateescape")
    except (binascii.Error, ValueError):
        return None, ""
    name, colon, password = decoded.partition(":")
    return (name, password) if colon else (None, "")


def _context(tls: Tls) -> ssl.SSLContext:
    """Raises UsageError, naming the file."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3 if tls.min_version == "TLS13" else ssl.TLSVersion.TLSv1_2
    try:
        # A key with a passphrase would make OpenSSL ask a terminal for it: an empty one is wrong at once.
        context.load_cert_chain(tls.cert, tls.key, password=lambda: "")
    except (OSError, ValueError) as error:  # SSLError is an OSError
        raise UsageError(f"{tls.cert}, {tls.key}: no certificate with its key: {_reason(error)}") from error
    if tls.client_ca is not None:
        try:
            context.load_verify_locations(tls.client_ca)
        except OSError as error:
            raise UsageError(f"{tls.client_ca}: no certificates: {_reason(error)}") from error
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _reason(error: Exception) -> str:
    return getattr(error, "reason", None) or getattr(error, "strerror", None) or type(error).__name__


def _stat(path: Path) -> tuple[str, int, int, int, int]:
    """The time of the last change of its status (inode(7)) also moves with its mode and owner."""
    try:
        found = path.stat()
    except (OSError, ValueError):  # ValueError: no name that a file can have
        return str(path), 0, 0, 0, 0
    return str(path), found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_size
