"""Which series a PromQL expression asks for: names and label matchers, without evaluating anything.

Grammar: prometheus.io/docs/prometheus/latest/querying/basics and /operators. Not a checker: an expression that Prometheus would
refuse gives something or nothing. Grafana's variables (`$x`, `${x}`, `[$__rate_interval]`) are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_CHARACTERS = 64 * 1024
_LIST_BEHIND = frozenset({"by", "without", "on", "ignoring", "group_left", "group_right"})
_BEHIND_FUNCTION = ("(", "by", "without")  # functions, and aggregations with their labels in front: `sum by (x) (...)`
_WORDS = _LIST_BEHIND | {"and", "or", "unless", "offset", "bool", "inf", "nan", "atan2", "start", "end"}
_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
    |(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)
    |(?P<range>\[[^\]]*\])
    |(?P<variable>\$\{[^}]*\}|\$\w+)
    |(?P<number>\d[\w.]*|\.\d[\w.]*)
    |(?P<name>[A-Za-z_:][A-Za-z0-9_:]*)
    |(?P<operator>=~|!~|!=|==|>=|<=|.)""",
    re.VERBOSE | re.DOTALL,
)
_MATCHING = ("=", "!=", "=~", "!~")


@dataclass(frozen=True, slots=True)
class Matcher:
    """`label op "value"`; the value without its quotes, escapes not yet undone but for the backslash and quotes."""

    label: str
    operator: str
    value: str

    @property
    def needs_label(self) -> bool:
        """Whether series without that label never match, as far as can be seen: a variable may stand for `.*`."""
        return self.operator in ("=", "=~") and self.value not in ("", ".*") and "$" not in self.value


@dataclass(frozen=True, slots=True)
class Selector:
    """One vector selector. `name` is empty where the series are chosen by labels alone."""

    name: str
    matchers: tuple[Matcher, ...] = ()


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def selectors(expression: str) -> tuple[Selector, ...]:
    """All selectors in their order. Never raises; what is longer than MOST_CHARACTERS is cut."""
    tokens = [
        _Token(str(found.lastgroup), found.group())
        for found in _TOKEN.finditer(expression[:MOST_CHARACTERS])
        if found.lastgroup != "space"
    ]
    return tuple(_selectors(tokens))


def _selectors(tokens: list[_Token]) -> Iterator[Selector]:
    at = 0
    while at < len(tokens):
        token = tokens[at]
        behind = tokens[at + 1].text if at + 1 < len(tokens) else ""
        at += 1
        if token.text == "{":
            found, at = _matchers(tokens, at)
            name = next((one.value for one in found if one.label == "__name__" and one.operator == "="), "")
            yield Selector(name, tuple(one for one in found if one.label != "__name__"))
        elif token.kind == "name" and token.text.lower() in _LIST_BEHIND and behind == "(":
            at = _behind_list(tokens, at)
        elif token.kind == "name" and token.text.lower() not in _WORDS and behind.lower() not in _BEHIND_FUNCTION:
            matchers: tuple[Matcher, ...] = ()
            if behind == "{":
                matchers, at = _matchers(tokens, at + 1)
            yield Selector(token.text, matchers)


def _matchers(tokens: list[_Token], at: int) -> tuple[tuple[Matcher, ...], int]:
    """Those from behind an opening brace on, and where the rest begins."""
    found = []
    while at < len(tokens) and tokens[at].text != "}":
        three = tokens[at : at + 3]
        if len(three) == 3 and three[0].kind == "name" and three[1].text in _MATCHING and three[2].kind == "text":
            found.append(Matcher(three[0].text, three[1].text, _unquoted(three[2].text)))
            at += 2
        at += 1
    return tuple(found), at + 1


def _behind_list(tokens: list[_Token], at: int) -> int:
    while at < len(tokens) and tokens[at].text != ")":
        at += 1
    return at + 1


def _unquoted(text: str) -> str:
    return text[1:-1] if text[0] == "`" else re.sub(r"\\([\\\"'])", r"\1", text[1:-1])
