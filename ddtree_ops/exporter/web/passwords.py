"""Is this the password of that hash? Own form `$scrypt$ln=13,r=8,p=4$<salt>$<hash>` (base64 without padding; scrypt, RFC 7914).

The forms of crypt(5), bcrypt's `$2b$` and `$2y$` among them, are checked by the package bcrypt where there is one, else by the
system's libcrypt (crypt(3)).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
import threading
from collections.abc import Callable

_SCRYPT = re.compile(r"\$scrypt\$ln=([0-9]{1,2}),r=([0-9]{1,2}),p=([0-9]{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})")
_BCRYPT = re.compile(r"\$2[aby]\$[0-9]{2}\$[./A-Za-z0-9]{53}")
_CRYPT = re.compile(r"\$(?:5|6|7|y|gy)\$[!-~]{20,200}")
_MOST_LN = 16  # 64 MiB with r=8
_LN, _R, _P = 13, 8, 4  # 8 MiB, and twice the work of ln=14, p=1
_LONGEST_PASSWORD = 1024
_BCRYPT_BYTES = 72  # bcrypt itself reads no more of a password
_LOCK = threading.Lock()  # crypt(3) has one buffer

Check = Callable[[str], bool]


class UnknownHashError(Exception):
    """The text is no hash that can be checked here."""


def checker(hashed: str) -> Check:
    """A function that says whether a password is the right one. Raises UnknownHashError, without the text."""
    match = _SCRYPT.fullmatch(hashed)
    if match:
        return _scrypt_checker(*match.groups())
    if _BCRYPT.fullmatch(hashed) or _CRYPT.fullmatch(hashed):
        return _crypt_checker(hashed)
    raise UnknownHashError("no hash of a form that is known here ($scrypt$, $2b$, $2y$, $6$, $y$)")


def make_hash(password: str) -> str:
    """The password's hash in our own form, with a new salt."""
    salt = os.urandom(16)
    derived = _derive(password, salt, _LN, _R, _P, 32)
    return f"$scrypt$ln={_LN},r={_R},p={_P}${_encoded(salt)}${_encoded(derived)}"


def _scrypt_checker(ln: str, r: str, p: str, salt: str, hashed: str) -> Check:
    try:
        salt_bytes, expected = _decoded(salt), _decoded(hashed)
    except binascii.Error:
        raise UnknownHashError("a $scrypt$ hash that was cut") from None
    if not (1 <= int(ln) <= _MOST_LN and 1 <= int(r) <= 8 and 1 <= int(p) <= 4):
        raise UnknownHashError(f"a $scrypt$ hash with other parameters than ln 1 to {_MOST_LN}, r 1 to 8, p 1 to 4")

    def check(password: str) -> bool:
        if "\0" in password:  # HMAC fills its key up with zeros: one more at the end would make no difference
            return False
        derived = _derive(password, salt_bytes, int(ln), int(r), int(p), len(expected))
        return hmac.compare_digest(derived, expected)

    return check


def _derive(password: str, salt: bytes, ln: int, r: int, p: int, length: int) -> bytes:
    memory = 128 * r * (2**ln + p + 2) + (1 << 16)
    secret = password[:_LONGEST_PASSWORD].encode("utf-8", "surrogateescape")
    return hashlib.scrypt(secret, salt=salt, n=2**ln, r=r, p=p, maxmem=memory, dklen=length)


def _crypt_checker(hashed: str) -> Check:
    one_way = _bcrypt() if _BCRYPT.fullmatch(hashed) else None
    one_way = one_way or _libcrypt()
    if one_way is None:
        raise UnknownHashError("a hash of crypt(5), which neither the package bcrypt nor a libcrypt here can check: use $scrypt$")
    setting, apply = hashed.encode(), one_way

    def check(password: str) -> bool:
        secret = password[:_LONGEST_PASSWORD].encode("utf-8", "surrogateescape")
        if b"\0" in secret:
            return False
        with _LOCK:
            found = apply(secret, setting)
        return hmac.compare_digest(found or b"", setting)

    return check


def _bcrypt() -> Callable[[bytes, bytes], bytes | None] | None:
    try:
        import bcrypt  # noqa: PLC0415 - only for such hashes
    except ImportError:
        return None
    return lambda secret, setting: bytes(bcrypt.hashpw(secret[:_BCRYPT_BYTES], setting))


def _libcrypt() -> Callable[[bytes, bytes], bytes | None] | None:
    import ctypes  # noqa: PLC0415 - only for such hashes

    try:
        function = ctypes.CDLL("libcrypt.so.1").crypt
    except (OSError, AttributeError):
        return None
    function.restype, function.argtypes = ctypes.c_char_p, (ctypes.c_char_p, ctypes.c_char_p)
    return function


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).rstrip(b"=").decode("ascii")


def _decoded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
