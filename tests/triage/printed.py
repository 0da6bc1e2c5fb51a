"""Exceptions made by hypothesis, printed by CPython's own traceback module, and what of them must be read back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from traceback import FrameSummary, StackSummary, TracebackException

from hypothesis import strategies as st

from ddtree_ops.triage.block import ParsedException, Relation
from ddtree_ops.triage.blocks.exception_lines import RELATIONS, is_other
from ddtree_ops.triage.blocks.frames import HEADER

#: Type, message, relation, frames as (file, line, function, code), index of the parent.
Read = tuple[str, str, Relation | None, tuple[tuple[str, int | None, str | None, str | None], ...], int | None]

_WORDS = st.sampled_from(
    (
        "x",
        "a",
        "Größe",
        "8",
        "(33)",
        "日本",
        "'k'",
        "a:b",
        "**",
        "~^",
        "|",
        "+",
        "File",
        '"q"',
        "[1/9]",
        "{}",
        "e\u0301",
        "😀",
        "-",
        "ValueError: x",
    )
)
_SENTENCE = st.lists(_WORDS, min_size=1, max_size=5).map(" ".join)


def is_plain(text: str) -> bool:
    """Whether nothing in a message looks like something else: no reader could tell it then."""
    lines = text.split("\n")
    return not any(
        line.strip() in RELATIONS or HEADER in line or is_other(line) or line.strip() == '"""' or "ray::" in line
        for line in lines
    )


_LINE = st.one_of(
    st.just(""), _SENTENCE, _SENTENCE.map(lambda text: f"  {text}"), st.just("| a | table |"), st.just("+----+----+")
)
_MESSAGE = st.one_of(st.just(""), _SENTENCE, st.lists(_LINE, min_size=2, max_size=5).map("\n".join)).filter(is_plain)
_NAMES = st.sampled_from(
    [
        "ValueError",
        "torch.OutOfMemoryError",
        "zmq.error.ZMQError",
        "mod.f.<locals>.Odd",
        "Größenfehler",
        "EOFError",
        "a.b.timeout",
    ]
)
_FILES = st.sampled_from(
    [
        "/opt/sgl/python/sglang/srt/x.py",
        "<frozen importlib._bootstrap>",
        "<string>",
        "/a b/ü.py",
        "zmq/socket.pyx",
        '/odd", line 3/x.py',
    ]
)
_FUNCTIONS = st.sampled_from(["<module>", "run", "Größe", "f.<locals>.<lambda>", "<listcomp>", "Worker.__call__"])
_CODE = st.one_of(st.just(""), _SENTENCE.filter(lambda text: not set(text) <= set("~^ ")), st.just('f = open("x", line=3)'))


@dataclass
class Node:
    """An exception to be printed: `cause` and `context` as in Python, `members` of a group."""

    type: str
    message: str
    frames: list[tuple[str, int, str, str]]
    before: Node | None = None
    is_cause: bool = False
    members: tuple[Node, ...] = ()


_FRAMES = st.lists(st.tuples(_FILES, st.integers(1, 99999), _FUNCTIONS, _CODE), min_size=1, max_size=5)
_LEAF = st.builds(Node, _NAMES, _MESSAGE, _FRAMES)


def _more(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    chained = st.builds(Node, _NAMES, _MESSAGE, _FRAMES, children, st.booleans())
    group = st.builds(
        Node,
        st.just("ExceptionGroup"),
        _SENTENCE.filter(is_plain),
        _FRAMES,
        st.none(),
        st.just(False),
        st.tuples(children, children),
    )
    return st.one_of(chained, group)


#: Chains and groups of a few exceptions.
NODES = st.recursive(_LEAF, _more, max_leaves=5)


def as_python(node: Node) -> TracebackException:
    """The node as CPython's own object for printing."""
    made = TracebackException(ExceptionGroup if node.members else ValueError, *_instance(node), None)
    made.stack = StackSummary.from_list([FrameSummary(*frame[:3], lookup_line=False, line=frame[3]) for frame in node.frames])
    made.exc_type = None  # type: ignore[assignment]
    before = as_python(node.before) if node.before else None
    made.__cause__ = before if node.is_cause else None
    made.__context__ = None if node.is_cause else before
    made.__suppress_context__ = node.is_cause
    module, _, name = node.type.rpartition(".")
    if "<locals>" in node.type:
        module, name = node.type.split(".", 1)
    made.exc_type = type(name, (Exception,), {"__module__": module or "builtins", "__qualname__": name})
    made._str = node.message  # type: ignore[attr-defined]
    made.exceptions = [as_python(member) for member in node.members] or None
    return made


def _instance(node: Node) -> tuple[BaseException]:
    return (ExceptionGroup("x", [ValueError()]) if node.members else ValueError(),)


def text_of(node: Node) -> list[str]:
    """The lines that CPython prints."""
    return "".join(as_python(node).format()).rstrip("\n").split("\n")


def wanted(node: Node) -> list[Read]:
    """What must be read: in printed order."""
    found: list[Read] = []
    _want(node, None, None, found)
    return found


def _want(node: Node, relation: Relation | None, parent: int | None, found: list[Read]) -> None:
    if node.before:
        _want(node.before, relation, parent, found)
        relation = Relation.CAUSE if node.is_cause else Relation.CONTEXT
    frames = tuple((file, line, name, code.strip() or None) for file, line, name, code in node.frames)
    index = len(found)
    found.append((node.type, _seen(node.message), relation, frames, parent))
    for member in node.members:
        _want(member, Relation.GROUP, index, found)


def _seen(message: str) -> str:
    return "\n".join(line.rstrip() for line in message.split("\n")).rstrip()


def read_of(exceptions: tuple[ParsedException, ...]) -> list[Read]:
    """What was read, to be compared with `wanted`."""
    return list(_short(exceptions))


def _short(exceptions: tuple[ParsedException, ...]) -> Iterator[Read]:
    for item in exceptions:
        # Python prints a frame three times at most, and then how often it comes again.
        each = (frame for frame in item.frames for _ in range(1 + frame.repeated))
        frames = tuple((frame.file, frame.line, frame.function, frame.code) for frame in each)
        yield item.type, item.message, item.relation, frames, item.parent
