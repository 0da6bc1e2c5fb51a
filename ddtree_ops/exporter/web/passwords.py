"""Is this the password of that hash? bcrypt, as Prometheus' exporter-toolkit has it."""

from __future__ import annotations

import re
from collections.abc import Callable

# $2y$ is that of `htpasswd -B`. Each step of the cost doubles the time; 14 takes about a second.
_HASH = re.compile(r"\$2[aby]\$(?:0[4-9]|1[0-5])\$[./A-Za-z0-9]{53}")
_SALT = slice(7, 29)
_COST = 10  # a tenth of a second
_MOST_BYTES = 72  # bcrypt reads no more of a password

Check = Callable[[str], bool]


class UnknownHashError(Exception):
    """The text is no hash that can be checked here."""


def checker(hashed: str) -> Check:
    """A function that says whether a password is the right one. Raises UnknownHashError, without the text."""
    import bcrypt  # noqa: PLC0415 - half a megabyte that only passwords need

    if not _HASH.fullmatch(hashed):
        raise UnknownHashError("no hash of bcrypt ($2b$, $2y$) with a cost from 04 to 15")
    try:
        bcrypt.hashpw(b"", f"$2b$04${hashed[_SALT]}".encode())  # at the least cost: a millisecond
    except ValueError as error:  # 22 letters hold four bits more than the 16 bytes, and these must be zero
        raise UnknownHashError("a hash of bcrypt with a salt that can't be: it was cut or mistyped") from error
    return lambda password: bcrypt.checkpw(_bytes(password), hashed.encode())


def make_hash(password: str) -> str:
    """The password's hash, with a new salt."""
    import bcrypt  # noqa: PLC0415

    return bcrypt.hashpw(_bytes(password), bcrypt.gensalt(_COST)).decode()


def _bytes(password: str) -> bytes:
    return password.encode("utf-8", "surrogateescape")[:_MOST_BYTES]
