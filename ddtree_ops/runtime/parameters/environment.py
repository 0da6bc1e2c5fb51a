"""Environment variables that a tree reads: by os.environ and getenv, by helpers of its own, and by SGLang's `Envs` declarations.

Reads are found in the text, since a syntax tree of all of SGLang costs seconds; declarations, with their defaults and deprecated
names, in the few files that hold them (srt/environ.py of SGLang 0.5.9 to 0.5.23).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ddtree_ops.runtime.parameters import env_declarations
from ddtree_ops.runtime.parameters.model import EnvironmentVariable
from ddtree_ops.runtime.parameters.modules import MOST_BYTES, Modules
from ddtree_ops.runtime.source.model import SourceFile, SourceTree

PREFIXES = {"SGLANG_": "sglang", "SGL_": "sglang", "VLLM_": "vllm", "FLASHINFER_": "flashinfer"}
"""How a variable of a package begins. FlashInfer's count only where its source is in the tree: it is no part of SGLang's."""

MOST = 20_000
_MOST_DEFAULT = 200
_GATES = (b"environ", b"getenv", b"env_", b"_env(", b"Env(")
_READ = re.compile(
    rb"""[eE][nN][vV]\w{0,40}(?:\.(?:get|pop|setdefault))?\(\s{0,80}f?["']([A-Z][A-Z0-9_]{2,100})["']\s{0,80}(,?)"""
    rb"""|environ\[\s{0,20}["']([A-Z][A-Z0-9_]{2,100})["']\s{0,20}\](?!\s{0,20}=[^=])"""
)
_ASKED = b"in os.environ"
_BEFORE = re.compile(rb"""["']([A-Z][A-Z0-9_]{2,100})["']\s{1,20}(?:not\s{1,20})?\Z""")
_NAMED = re.compile(rb"\b(?:SGL|VLLM_|FLASHINFER_)[A-Z0-9_]{2,100}\b")
_CONSTANT = re.compile(
    rb"""^[A-Z_][A-Z0-9_]{0,80}\s{0,9}(?::\s{0,9}[\w.\[\]]{1,60}\s{0,9})?=\s{0,9}["']((?:SGL|VLLM_|FLASHINFER_)[A-Z0-9_]{2,100})["']""",
    re.M,
)
_NAMED_GATES = (b"SGL", b"VLLM_", b"FLASHINFER_")


def environment(tree: SourceTree) -> tuple[EnvironmentVariable, ...]:
    """Every environment variable that the tree reads, sorted by name; the first place of each, its declaration if there is one.

    A variable of the runtime's own that is only mentioned (as a constant, in a text) is in it, too, with `declared` False.
    """
    modules = Modules(tree)
    found: dict[str, EnvironmentVariable] = {}
    mentioned: dict[str, EnvironmentVariable] = {}
    for file in tree.files:
        content = _content(file)
        if content is None or len(found) > MOST:
            continue
        if env_declarations.GATE in content:
            module = modules.of(file)
            for one in env_declarations.declarations(module) if module is not None else ():
                found[one.name] = one
        for one in _reads(file, content):
            found.setdefault(one.name, one)
        for one in _mentions(file, content):
            mentioned.setdefault(one.name, one)
    return tuple(sorted({**mentioned, **found}.values(), key=lambda one: one.name))


def _content(file: SourceFile) -> bytes | None:
    try:
        content = file.read()
    except OSError:
        return None
    return content if len(content) <= MOST_BYTES else None


def _reads(file: SourceFile, content: bytes) -> Iterator[EnvironmentVariable]:
    if not any(gate in content for gate in _GATES):
        return
    lines = _Lines(content)
    for match in _READ.finditer(content):
        name = match[1] or match[3]
        start = content.rfind(b"\n", 0, match.start()) + 1
        if b"#" not in content[start : match.start()]:
            default = _default(content, match.end()) if match[2] else None
            yield EnvironmentVariable(name.decode(), default, file.name, lines.at(match.start()), _owner(file))
    place = content.find(_ASKED)
    while place >= 0:
        asked = _BEFORE.search(content, max(0, place - 150), place)
        if asked is not None:
            yield EnvironmentVariable(asked[1].decode(), None, file.name, _Lines(content).at(place), _owner(file))
        place = content.find(_ASKED, place + 1)


def _mentions(file: SourceFile, content: bytes) -> Iterator[EnvironmentVariable]:
    if not any(gate in content for gate in _NAMED_GATES):
        return
    seen: set[bytes] = set()
    constants = {match[1] for match in _CONSTANT.finditer(content)}
    lines = _Lines(content)
    for match in _NAMED.finditer(content):
        if match[0] not in seen:
            seen.add(match[0])
            line = lines.at(match.start())
            yield EnvironmentVariable(match[0].decode(), None, file.name, line, _owner(file), declared=match[0] in constants)


class _Lines:
    """Line numbers of places that come in order."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.place, self.line = 0, 1

    def at(self, place: int) -> int:
        self.line += self.content.count(b"\n", self.place, place)
        self.place = place
        return self.line


def _owner(file: SourceFile) -> str:
    return file.name.split("/")[0].removesuffix(".py")


def _default(content: bytes, start: int) -> str | None:
    """The argument after the name, as written: up to the comma or bracket that ends it."""
    depth, quote = 0, 0
    part = content[start : start + _MOST_DEFAULT]
    for place, byte in enumerate(part):
        if quote:
            quote = 0 if byte == quote else quote
        elif byte in b"\"'":
            quote = byte
        elif byte in b"([{":
            depth += 1
        elif byte in b")]}" or (byte == ord(",") and not depth):
            if depth and byte != ord(","):
                depth -= 1
                continue
            return " ".join(part[:place].decode("utf-8", "replace").split()) or None
    return None
