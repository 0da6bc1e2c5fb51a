"""A failure's cause and fix as labels: only words that stand in our own sources, whole numbers, and names of arguments.

Triage writes a cause by filling a sentence with what the log says: a size, but also a path, a module, a message. Anybody who
can make the server log something could so write into labels, and into what the pager shows. So the finished sentence is laid
over the sentences in triage's sources, and of what fills a gap, or is no sentence of ours, only numbers, known arguments and
longer pieces of our sentences are kept; the rest becomes an ellipsis.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

import re2

from ddtree_ops.fleet.server_args import OWNED
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Failure

#: Characters of a label.
LENGTH = 200
UNKNOWN_CAUSE = "No known cause: the report shows the traceback."
UNKNOWN_FIX = "Read the report with ddtree-ops triage."
_ELLIPSIS = "…"
_TEXT = 1000  # characters of a cause that are looked at
_SHORTEST, _PIECE = 6, 12  # of a sentence's own words; within anybody's words, of which a few are soon some of ours
_FILES = ("signatures", "deaths.py", "hidden.py", "last_words.py", "judge.py", "numbers.py", "xids.py")
#: Sentences that triage puts together out of pieces too small to be told from anybody's words; {} is a gap.
_PIECED = (
    "GPU {} ({}) had {} left {}, {} asked for.",
    "GPU {} had {} left {}, {} asked for.",
    "GPU {} ({}) had {} left {}.",
    "GPU {} had no memory left {}.",
    "GPU {} had no memory left {} ({} asked for).",
    "The GPU had {} left {}, {} asked for.",
    "The GPU had no memory left {}.",
    "The GPU had no memory left {} ({} asked for).",
    "The GPU had no memory left.",
    "GPU {} had no memory left.",
    "Xid {} on {}: {}",
    "SXid {} on {}: {}",
    "the driver asks for: {}",
    "{} other GPU of the host ran into it",
    "{} other GPUs of the host ran into it",
    "One request failed with it: {}.",
    "One task of the event loop ended with it: {}.",
)
_NUMBER = r"-?[0-9]{1,12}(?:[.,][0-9]{1,6})?%?(?: ?[KMGT]i?B| s| ms)?"
_WORDS = re.compile(rf"{_NUMBER}(?=[ (),+*]|$)|[ (),+*]|[^ (),+*]+")
_ARGUMENT = re.compile(r"--[a-z][a-z0-9-]{1,60}")


def cause(failure: Failure) -> str:
    """Why it failed, as far as our own words tell; a fixed sentence where nothing is known."""
    if failure.kind is Kind.UNKNOWN or not failure.cause:
        return UNKNOWN_CAUSE
    return _label(failure.cause) or failure.kind.value.replace("_", " ")


def fix(failure: Failure) -> str:
    """The first fix, in the same way."""
    if failure.kind is Kind.UNKNOWN or not failure.fixes:
        return UNKNOWN_FIX
    return _label(failure.fixes[0]) or UNKNOWN_FIX


def ours(text: str) -> str:
    """What of a text of triage's is our own wording; empty where little is. Not shortened."""
    line = " ".join(text[:_TEXT].split())
    said = re.sub("…(?: …)+", _ELLIPSIS, _told(line, inside=False))
    return said if _is_safe(line) or len(re.sub(r"--\S+|[\W\d_]", "", said)) >= _SHORTEST else ""


def _told(text: str, *, inside: bool = True) -> str:
    """The text as a sentence of ours, its gaps told in the same way; else what is in it. In a gap anybody's words may stand."""
    inner = text.strip(" ")
    if not inner or _is_safe(inner):
        return text
    before, after = text[: len(text) - len(text.lstrip(" "))], text[len(text.rstrip(" ")) :]
    for parts, own in _sentences().items():
        if own < (max(_PIECE, len(inner) // 3) if inside else _SHORTEST):
            break
        found = _pattern(parts).fullmatch(inner) if all(part in inner for part in parts) else None
        if found:
            return before + "".join(map(str.__add__, parts, (*map(_told, found.groups()), ""))) + after
    return before + _pieced(inner) + after


def _pieced(text: str) -> str:
    """Of anybody's words our pieces, numbers and arguments, with the blanks and signs between them."""
    there = [re.escape(piece) for piece in _pieces() if piece in text]
    between, *rest = re.split(f"({'|'.join(there)})", text) if there else [text]
    return _sieved(between) + "".join(piece + _sieved(other) for piece, other in zip(rest[::2], rest[1::2], strict=True))


def _sieved(text: str) -> str:
    words = _WORDS.findall(text)
    return "".join(word if word in " (),+*" or _is_safe(word) else _ELLIPSIS for word in words)


def _is_safe(text: str) -> bool:
    return bool(re.fullmatch(_NUMBER, text)) or text in _arguments() or (text,) in _sentences()


def _label(text: str) -> str:
    said = ours(text)
    return said if len(said) <= LENGTH else said[: LENGTH - 1].rstrip() + _ELLIPSIS


@cache
def _pattern(parts: tuple[str, ...]) -> re2._Regexp:
    options = re2.Options()
    options.log_errors, options.dot_nl = False, True
    return re2.compile("(.*?)".join(map(re2.escape, parts)), options)


@cache
def _pieces() -> tuple[str, ...]:
    """The longest first."""
    found = {part.strip() for parts in _sentences() for part in parts}
    return tuple(sorted((piece for piece in found if len(piece) >= _PIECE and " " in piece), key=len, reverse=True))


@cache
def _arguments() -> frozenset[str]:
    said = {word for parts in _sentences() for part in parts for word in _ARGUMENT.findall(part)}
    said |= {f"--{name}" for name in OWNED}
    return frozenset(said | {word[2:].replace("-", "_") for word in said if "-" in word[2:]})


@cache
def _sentences() -> dict[tuple[str, ...], int]:
    """The fixed parts of each, with a gap between each two, and how many characters they are; those first that are most."""
    found: set[tuple[str, ...]] = set()
    for node in _nodes():
        if isinstance(node, ast.JoinedStr | ast.BinOp):
            found.add(_parts(node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in (text := " ".join(node.value.split())):
            found |= {(text,), (text.rstrip("."),), (text.rstrip(".") + ".",)}
    sizes = {parts: sum(len(part.strip()) for part in parts) for parts in sorted(found)}
    sizes |= {tuple(text.split("{}")): len(text) for text in _PIECED}
    return dict(sorted(sizes.items(), key=lambda item: -item[1]))


def _parts(node: ast.JoinedStr | ast.BinOp) -> tuple[str, ...]:
    """What stands between the gaps; blanks as `_label` has them."""
    parts = [""]
    for text in _texts(node):
        if text is not None:
            parts[-1] += text
        elif len(parts) == 1 or parts[-1]:
            parts.append("")
    return tuple(re.sub(r"\s+", " ", part) for part in parts)


def _texts(node: ast.AST) -> Iterator[str | None]:
    """Fixed text, and None for what isn't, of an f-string or of strings added to each other."""
    if isinstance(node, ast.JoinedStr):
        for value in node.values:
            yield str(value.value) if isinstance(value, ast.Constant) else None
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from (*_texts(node.left), *_texts(node.right))
    else:
        yield node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _nodes() -> Iterator[ast.AST]:
    for file in _files(resources.files("ddtree_ops.triage")):
        yield from ast.walk(ast.parse(file.read_text("utf-8")))


def _files(folder: Traversable) -> Iterator[Traversable]:
    for name in _FILES:
        found = folder.joinpath(name)
        if found.is_file():
            yield found
        else:
            yield from (item for item in found.iterdir() if item.name.endswith(".py"))
