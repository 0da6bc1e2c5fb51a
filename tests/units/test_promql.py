"""Names and matchers in PromQL."""

from __future__ import annotations

import pytest

from ddtree_ops.units.promql import Matcher, Selector, selectors

CASES = [
    ("up", [Selector("up")]),
    ("a:b_total > bool 1e3", [Selector("a:b_total")]),
    ("rate(x_total[5m] offset 1h)", [Selector("x_total")]),
    ("rate(x_total[$__rate_interval])", [Selector("x_total")]),
    ("sum by (le, host) (x) / on (host) group_left (release) y", [Selector("x"), Selector("y")]),
    ("max without (port) (x) unless ignoring(a) y", [Selector("x"), Selector("y")]),
    ("sum(x) by (le)", [Selector("x")]),
    ('count_values by (v) ("v", x)', [Selector("x")]),
    ('x{le="0.5",host=~"$host"}', [Selector("x", (Matcher("le", "=", "0.5"), Matcher("host", "=~", "$host")))]),
    ('{__name__="x", a!="b"}', [Selector("x", (Matcher("a", "!=", "b"),))]),
    ('{__name__=~"x.*"}', [Selector("", ())]),
    ('x{a="}) y {"} or z', [Selector("x", (Matcher("a", "=", "}) y {"),)), Selector("z")]),
    (r'x{a="q\"y"}', [Selector("x", (Matcher("a", "=", 'q"y'),))]),
    ("x{a=`\\d`}", [Selector("x", (Matcher("a", "=", "\\d"),))]),
    ("x # y\n+ Inf - NaN", [Selector("x")]),
    ('label_replace(x, "a", "$1", "b", "(.*)") @ end()', [Selector("x")]),
    ("x * $scale + ${other}", [Selector("x")]),
    ("topk(3, x)", [Selector("x")]),
    ("", []),
    ("x{", [Selector("x")]),
    ("sum by (", []),
    ("((((", []),
]


@pytest.mark.parametrize(("expression", "expected"), CASES)
def test_selectors(expression: str, expected: list[Selector]) -> None:
    assert list(selectors(expression)) == expected


def test_hostile_length_is_cut() -> None:
    assert len(selectors("x+" * 1_000_000)) <= 40_000


@pytest.mark.parametrize(
    ("matcher", "needed"),
    [
        (Matcher("a", "=", "b"), True),
        (Matcher("a", "=~", "b|c"), True),
        (Matcher("a", "=~", ".*"), False),
        (Matcher("a", "=", ""), False),
        (Matcher("a", "!=", "b"), False),
        (Matcher("a", "=~", "$a"), False),
    ],
)
def test_which_matchers_need_their_label(matcher: Matcher, needed: bool) -> None:
    assert matcher.needs_label is needed
