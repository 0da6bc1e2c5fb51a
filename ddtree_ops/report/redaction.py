"""Text without credentials: nobody pastes a key into an issue by way of a report.

One pass with RE2, which can't backtrack: linear in the text, whatever the text is. A rule is a pair of groups: what stays,
what becomes `***`. Line breaks are never taken away, so several lines can be redacted as one text and split again.
"""

from __future__ import annotations

import re

import re2

from ddtree_ops.report.secret_values import LOOK_BACK, is_secret

HIDDEN = b"***"
_OPEN = r"""(?:b["']|["'\\]{0,4})"""  # what may stand before a value: quotes, escaped quotes, the b of bytes
_VALUE = r"""\\{1,4}["'][^"'\\\n]*|'(?:[^'\\\n]|\\.)*|"(?:[^"\\\n]|\\.)*|[^\s"'\\,;&)}\]<>]+"""
_IS = r"""["'\\]{0,4}[ \t]{0,8}(?::=|=>|=|:)[ \t]{0,8}b?"""
_BROAD = (
    r"api[_-]?keys?|access[_-]?key(?:[_-]?id)?|secret(?:[_-]?access)?[_-]?key|private[_-]?key|secret"
    r"|passw(?:or)?d|passphrase|pwd"
)
_WHOSE = (
    r"hf|hub|hugging[_-]?face(?:[_-]?hub)?|access|auth|authentication|api|bearer|refresh|id|session|security|git(?:hub|lab)?|gh|secret"
    r"|private|csrf|xsrf|oauth2?|jwt|user|client|service|registry|npm|pypi|slack|bot|personal|deploy|account|wandb|login|vault"
)
_TOKEN = rf"(?:{_WHOSE})[_-]?token"
_QUERY = (
    r"(?:access|refresh|id|auth)?_?token|auth|api[_-]?key|key|sig|signature|password|passwd|pwd|pass|secret|client_secret|sas|hmac"
    r"|policy|key-pair-id|jwt|session|x-(?:amz|goog)-(?:signature|credential|security-token)"
)
# Prefixes that the issuers document for their keys, so that scanners find them (GitHub, GitLab, Hugging Face, OpenAI, AWS, ...).
_SHAPES = (
    r"hf_[A-Za-z0-9]{16,}|api_org_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}|xox[abeoprs]-[\w-]{10,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|nvapi-[\w-]{20,}|npm_[A-Za-z0-9]{30,}"
    r"|pypi-[\w-]{40,}|gsk_[A-Za-z0-9]{20,}|xai-[A-Za-z0-9]{20,}|r8_[A-Za-z0-9]{30,}|dckr_pat_[\w-]{20,}|dapi[0-9a-f]{32}"
    r"|[rs]k_(?:live|test)_\w{16,}|hvs\.[\w-]{20,}|tskey-[\w-]{16,}|AGE-SECRET-KEY-1[A-Z0-9]{20,}|SG\.[\w-]{16,}\.[\w-]{16,}"
    r"|eyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*){0,3}"
)
# A PEM body, walked with possessive repeats: words of base64 and what stands between them in a log, in a repr, in JSON.
_BETWEEN = rb"""(?:\\[nr]|[\s\\"',|>])"""
_PEM_BODY = re.compile(
    rb"(?:%(between)s{0,40}+(?:(?:Proc-Type|DEK-Info|Comment|Version): [^\n\\]{0,200}+|[A-Za-z0-9+/=]{16,}+))++"
    rb"(?:%(between)s{0,40}+[A-Za-z0-9+/=]{0,80}+%(between)s{0,40}+-----END [A-Z0-9 ]{0,60}+-----)?" % {b"between": _BETWEEN}
)

# In this order where two begin at the same place. RFC 6750 section 2.1 (Bearer), RFC 9110 section 11.6.2 (Authorization),
# RFC 7468 (PEM), RFC 3986 section 3.2.1 (userinfo). Kinds: what `is_secret` is told of the value.
_RULES: tuple[tuple[str, str, str], ...] = (
    ("pem", r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE", r" KEY(?: BLOCK)?-----"),
    (
        "header",
        rf"""(?i:authorization(?:["'\\]{{1,4}}\s{{0,8}},|["'\\]{{0,4}}\s{{0,8}}[:=])\s{{0,8}}{_OPEN}digest\s{{1,8}})""",
        r"[^\n]+",
    ),
    (
        "header",
        r"""(?i:authorization(?:["'\\]{1,4}\s{0,8},|["'\\]{0,4}\s{0,8}[:=])\s{0,8}"""
        rf"""{_OPEN}(?:[a-z][a-z0-9-]{{0,30}}(?:\s|%20){{1,8}})?)""",
        r"""[^\s"'\\]+""",
    ),
    ("bearer", rf"(?i:bearer(?:[\s:=]|%20)+{_OPEN})", r"""[^\s"'\\,;)}\]<>]+"""),
    ("cookie", rf"""(?i:\b(?:set-)?cookie2?["'\\]{{0,4}}\s{{0,4}}[:,]\s{{0,4}}{_OPEN})""", r"""[^"'\\\n]+"""),
    ("cookies", r"(?i:\bcookies[ \t]?=[ \t]?)", r"\{[^}\n]*\}?|\[[^\]\n]*\]?"),
    ("userinfo", r"""(?i:\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@"'<>?#]{0,256}:)""", r"""[^\s/"'<>]+@"""),
    ("user", r"(?i:\b[a-z][a-z0-9+.-]{1,20}://)", r"""[^\s/:@"'<>?#]{20,}@"""),
    ("query", rf"(?i:[?&;](?:{_QUERY})=)", r"""[^&\s"'<>#;\\]+"""),
    ("flag", rf"""(?i:--(?:[a-z0-9]+[_-]){{0,4}}(?:{_BROAD}|{_TOKEN})(?:=|["']?,?[ \t]{{1,8}}))""", _VALUE),
    ("flag", r"""(?i:--token(?:=|["']?,?[ \t]{1,8})|\bsshpass[ \t]+-p[ \t]*)""", _VALUE),
    ("named", rf"(?i:[\w.-]{{0,80}}?(?:{_BROAD}|\b(?:[\w.-]{{0,80}}[_.-])?{_TOKEN}){_IS})", _VALUE),
    ("named", r"""(?i:\bx-(?:[a-z]+-){0,3}(?:key|token)["']{0,2}[ \t]?(?:[:=]|,)[ \t]?b?)""", _VALUE),
    ("token", rf"(?i:\btoken{_IS})", _VALUE),
    ("named", r"(?i:\bsignature=)", r"[0-9a-f]{32,}"),
    ("shape", r"\b", _SHAPES),
)
_ANY = re2.compile("|".join(f"({keep})({secret})" for _, keep, secret in _RULES).encode())


def redacted(text: str) -> str:
    """The text with every credential that can be recognised replaced by `***`; the rest, and its lines, as they were."""
    raw = text.encode("utf-8", "surrogatepass")
    parts: list[bytes] = []
    done = 0
    for found in _ANY.finditer(raw):
        index = found.lastindex
        kept, secret = found.group(index - 1), found.group(index)
        kind = _RULES[index // 2 - 1][0]
        if found.start() < done or not is_secret(kind, kept, secret, raw[max(0, found.start() - LOOK_BACK) : found.start()]):
            continue
        if kind == "pem":
            body = _PEM_BODY.match(raw, found.end())
            if body:
                parts += (raw[done : found.end()], b"\n".join([HIDDEN] * (1 + body.group().count(b"\n"))))
                done = body.end()
            continue
        parts += (raw[done : found.start()], kept, _hidden(kind, secret))
        done = found.end()
    if not parts:
        return text
    return b"".join((*parts, raw[done:])).decode("utf-8", "surrogatepass")


def _hidden(kind: str, secret: bytes) -> bytes:
    if kind in ("userinfo", "user"):
        return HIDDEN + b"@"
    return secret[: len(secret) - len(secret.lstrip(b"\\\"'"))] + HIDDEN
