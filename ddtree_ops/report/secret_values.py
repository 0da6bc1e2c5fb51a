"""Whether a value that stands where a credential would stand is one: code, prose and placeholders are not."""

from __future__ import annotations

import re

# What prose, code and configuration put behind such a name. Compared without quotes and punctuation, in small letters.
_WORDS = frozenset(
    b"is was are be has had must should can cannot not no none null nil nan true false yes missing required empty invalid"
    b" wrong expired incorrect unset set given found denied failed error"
    b" expected mismatch and or of in for from to with the a an it you your"
    b" str string int bool bytes float object any optional secretstr field text token tokens auth authentication authorization"
    b" scheme header key keys value api_key password secret changeme redacted hidden masked".split()
)
_PLACEHOLDER = re.compile(
    rb"\$\{?\w+\}?|\$\(.{0,80}|<[\w .-]{0,40}>?|%\(?\w{0,40}\)?[sr]|\{[\w.!:]{0,60}\}?|\*+|\.{3}|x{3,}|#+", re.I
)
# An expression of code: `self.api_key`, `os.environ[`, `Optional[str`, `get_key(`.
_CODE = re.compile(
    rb"(?:self|cls|args|kwargs|os|config|cfg|settings|options|server_args|request|req)\.[\w.]{1,80}[\[(]?.{0,40}"
    rb"|(?:Optional|Union|str|Annotated|Field|Secret\w*|get\w*|getenv|load\w*|read\w*)[\[(].{0,80}",
    re.S,
)
_NAME = re.compile(rb"[\w.]{1,100}")
_PATH = re.compile(rb"(?:~|\.{1,2})?/[\w./@+-]{1,400}")
_PLACES = (b"pwd", b"private_key", b"private-key")  # names under which a file's path is usual
# `/etc/passwd:12`, as programs name a line of a file. Only below a folder, from the root: `login/password:12` is an account.
LOOK_BACK = 200  # bytes before a name
_FOLDER = re.compile(rb"(?:^|[\s\"'(=])(?:/[\w.-]{1,80}){1,12}/$")
_LINE = re.compile(rb"\d{1,5}(?::\d{1,4})?:?")
_QUOTES = b"\"'\\"
_AMBIGUOUS = b"sk-"  # a key, or the beginning of a name with dashes
_RANDOM_LENGTH = 16


def is_secret(kind: str, kept: bytes, secret: bytes, before: bytes = b"") -> bool:
    """`kind` names the rule that found it, `kept` is the name before the value, `before` up to LOOK_BACK before that."""
    value = secret.strip(_QUOTES)
    if kind in ("pem", "header", "userinfo", "query"):
        return not _PLACEHOLDER.fullmatch(value.rstrip(b"@"))
    if kind == "cookie":
        return b"=" in value
    if kind == "cookies":
        return len(value) > len("{}")
    if kind == "shape":
        return not value.startswith(_AMBIGUOUS) or _random(value)
    if kind == "user":
        return _random(value)
    if kind == "bearer" and b"\n" in kept:  # a wrapped header, or only the word at the end of a line
        return any(48 <= char <= 57 for char in value)
    if kind == "token":
        return len(value) >= _RANDOM_LENGTH and _random(value) and not _is_code(kept, secret)
    if kind == "named" and kept.endswith(b":") and _LINE.fullmatch(secret) and _FOLDER.search(before):
        return False
    return not _is_word(value) and not _is_code(kept, secret) and not _is_place(kept, value)


def _random(value: bytes) -> bool:
    """Digits or both cases: a key, not a word with dashes."""
    return any(48 <= char <= 57 for char in value) or not (value.islower() or value.isupper())


def _is_word(value: bytes) -> bool:
    return not value or value.strip(b".:,;!?()[]{}").lower() in _WORDS or bool(_PLACEHOLDER.fullmatch(value))


def _is_code(kept: bytes, secret: bytes) -> bool:
    """An unquoted expression; `api_key=api_key` and `password=args.password` pass a value on."""
    if secret[:1] in (b"'", b'"', b"\\"):
        return False
    if _CODE.fullmatch(secret[:200]):
        return True
    name = re.split(rb"[^\w]+", kept.strip(b" \t=:\"'\\b,-").replace(b"-", b"_"))[-1]
    return bool(name) and bool(_NAME.fullmatch(secret)) and secret.rpartition(b".")[2].lower() == name.lower()


def _is_place(kept: bytes, value: bytes) -> bool:
    name = kept.rstrip(b" \t=:\"'\\b,").lower()
    return name.endswith(_PLACES) and bool(_PATH.fullmatch(value))
