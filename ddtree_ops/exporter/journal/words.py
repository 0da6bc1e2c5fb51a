"""A failure's cause and fix as labels: only words that stand in our own sources, whole numbers, and names of arguments.

Triage writes a cause by filling a sentence with what the log says: a size, but also a path, a module, a message. Anybody who
can make the server log something could so write into labels, and into what the pager shows. So the finished sentence is laid
over the sentences in triage's sources, and of what fills a gap only numbers, known arguments and further sentences of
ours are kept; the rest becomes an ellipsis.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import NamedTuple

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
_DEPTH = 3  # of sentences within sentences
_SHORTEST, _INSIDE = 4, 12  # characters of a sentence's own words, or it says nothing
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
_NUMBER = re.compile(r"-?\d{1,12}(?:[.,]\d{1,6})?%?(?: ?[KMGT]i?B| s| ms)?")
_WORDS = re.compile(r"[ (),+*]|[^ (),+*]+")
_ROW_OF_GAPS = re.compile(f"{_ELLIPSIS}(?: {_ELLIPSIS})+")
_SIGNS = re.compile(r"[ (),+*]")
_ARGUMENT = re.compile(r"--[a-z][a-z0-9-]{1,60}")


class _Sentence(NamedTuple):
    """The fixed parts of a sentence, with a gap between each two; `own`: how many characters of it are ours."""

    parts: tuple[str, ...]
    own: int


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
    """What of a text of triage's is our own wording; empty where nothing is. Not shortened."""
    return _ROW_OF_GAPS.sub(_ELLIPSIS, _spoken(" ".join(text[:_TEXT].split()), _DEPTH) or "")


def _label(text: str) -> str:
    return _shortened(ours(text))


def _spoken(line: str, depth: int) -> str | None:
    """The text as one sentence of ours; else what of its clauses is ours; None if nothing is."""
    told = _told(line, depth)
    if told is not None:
        return told
    clauses = [(_told(part, depth), separator) for part, separator in _clauses(line)]
    if len(clauses) == 1 or not any(words and not _is_safe(words) for words, _ in clauses):
        return None
    return "".join(separator if words == "" else (words or _ELLIPSIS) + separator for words, separator in clauses)


def _clauses(line: str) -> Iterator[tuple[str, str]]:
    """The text cut at what separates sentences, each with what follows it."""
    pieces = re.split(r"(; |: | \(|\)\.?$|\.$)", line)
    yield from zip(pieces[::2], (*pieces[1::2], ""), strict=True)


def _told(text: str, depth: int) -> str | None:
    """The text with foreign parts left out; None if no sentence of ours is in it."""
    if _is_safe(text) or text.rstrip(".") in _whole():
        return text
    if depth == 0:
        return None
    inside = depth < _DEPTH  # of a gap, where anybody's words may stand: a few of them are soon some of ours
    for sentence in _sentences():
        if inside and sentence.own < max(_INSIDE, len(text) // 3):
            return None
        if all(part in text for part in sentence.parts):
            found = _pattern(sentence.parts).fullmatch(text)
            if found:
                gaps = [_gap(gap or "", depth - 1) for gap in found.groups()]
                return "".join(map(str.__add__, sentence.parts, (*gaps, "")))
    return None


def _is_safe(text: str) -> bool:
    return not text or bool(_NUMBER.fullmatch(text)) or text in _arguments()


def _gap(text: str, depth: int) -> str:
    """What fills a gap: as it is where it may be, with the blanks around it."""
    inner = text.strip(" ")
    if not inner:
        return text
    told = _spoken(inner, depth) or _sieved(inner[:LENGTH])
    return text[: len(text) - len(text.lstrip(" "))] + told + text[len(text.rstrip(" ")) :]


def _sieved(text: str) -> str:
    """Of words that aren't ours the numbers and arguments, and the signs between them."""
    return "".join(word if _SIGNS.fullmatch(word) or _is_safe(word) else _ELLIPSIS for word in _WORDS.findall(text))


def _shortened(text: str) -> str:
    text = re.sub(r"…(?:[ (),+*…]*…)+", _ELLIPSIS, text)
    return text if len(text) <= LENGTH else text[: LENGTH - 1].rstrip() + _ELLIPSIS


@cache
def _pattern(parts: tuple[str, ...]) -> re2._Regexp:
    options = re2.Options()
    options.log_errors, options.dot_nl = False, True
    return re2.compile("(.*?)".join(map(re2.escape, parts)), options)


@cache
def _all() -> tuple[tuple[_Sentence, ...], frozenset[str]]:
    """Sentences with gaps, those first that say most of their own; and whole ones."""
    gapped: dict[tuple[str, ...], _Sentence] = {}
    whole: set[str] = set()
    for node in _nodes():
        if isinstance(node, ast.JoinedStr | ast.BinOp):
            parts = _parts(node)
            own = sum(len(part.strip()) for part in parts)
            if own >= _SHORTEST:
                gapped[parts] = _Sentence(parts, own)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            whole.add(" ".join(node.value.split()).rstrip("."))
    for text in _PIECED:
        parts = tuple(text.split("{}"))
        gapped[parts] = _Sentence(parts, len(text))
    return tuple(sorted(gapped.values(), key=lambda item: -item.own)), frozenset(whole)


def _sentences() -> tuple[_Sentence, ...]:
    return _all()[0]


def _whole() -> frozenset[str]:
    return _all()[1]


@cache
def _arguments() -> frozenset[str]:
    said = {
        word for text in (*_whole(), *(part for item in _sentences() for part in item.parts)) for word in _ARGUMENT.findall(text)
    }
    fields = {name.replace("-", "_") for name in (*OWNED, *(word[2:] for word in said)) if "-" in name}
    return frozenset(said | fields | {f"--{name}" for name in OWNED})


def _parts(node: ast.JoinedStr | ast.BinOp) -> tuple[str, ...]:
    """What stands between the gaps; blanks as `_label` has them."""
    parts = [""]
    for text in _pieces(node):
        if text is not None:
            parts[-1] += text
        elif len(parts) == 1 or parts[-1]:
            parts.append("")
    return tuple(re.sub(r"\s+", " ", part) for part in parts)


def _pieces(node: ast.AST) -> Iterator[str | None]:
    """Fixed text, and None for what isn't, of an f-string or of strings added to each other."""
    if isinstance(node, ast.JoinedStr):
        for value in node.values:
            yield str(value.value) if isinstance(value, ast.Constant) else None
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from (*_pieces(node.left), *_pieces(node.right))
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
