"""What dashboards and rules need, against what a server and its exporter really say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ddtree_ops.exporter.catalogue import BY_NAME, exporter
from ddtree_ops.exporter.metric import Metric
from ddtree_ops.exporter.metric_names.late import AFTER_A_REQUEST, ANSWERED, ONCE_IT_HAPPENED, WITH_SPECULATION
from ddtree_ops.exporter.metric_names.needs import OWN, SGLANG, SGLANG_STORED, Need, Use, stored
from ddtree_ops.fleet.mistakes import nearest_words
from ddtree_ops.units.exposition import Sample, parse_samples
from ddtree_ops.units.promql import Matcher

MOST_SERIES = 200_000
# Set by discovery or by Prometheus, never by the page itself.
_FROM_OUTSIDE = frozenset({"host", "hardware", "model", "instance", "job", "port"})
_SUFFIX = re.compile(r"_(?:bucket|count|sum)$")
Page = Mapping[str, tuple[Sample, ...]]


class Verdict(StrEnum):
    """What became of a need."""

    THERE = "there"
    LATER = "later"
    MISSING = "missing"


_Absent = Callable[[str], tuple[Verdict, str]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One metric that is needed. `why` says what is missing or when it will come; `near` are names that the page does have."""

    metric: str
    verdict: Verdict
    uses: tuple[Use, ...]
    why: str = ""
    near: tuple[str, ...] = ()


def read_page(body: bytes) -> Page:
    """Series of SGLang and of our exporter by the names under which they are stored; other names are left out. Never raises."""
    found: dict[str, list[Sample]] = {}
    for sample in parse_samples(body, SGLANG, SGLANG_STORED, OWN, most=MOST_SERIES):
        found.setdefault(stored(sample.name), []).append(sample)
    return {name: tuple(series) for name, series in found.items()}


def of_server(needs: Iterable[Need], page: Page, *, speculates: bool) -> tuple[Outcome, ...]:
    """What the server's own page has to have. `speculates`: a draft is configured, so its counters are expected."""
    answered = any(one.value > 0 for one in page.get(ANSWERED, ()))

    def absent(name: str) -> tuple[Verdict, str]:
        family = _SUFFIX.sub("", name)
        if not speculates and family.startswith(WITH_SPECULATION):
            return Verdict.LATER, "only a server with a draft model has it"
        if family in ONCE_IT_HAPPENED:
            return Verdict.LATER, ONCE_IT_HAPPENED[family]
        if family in AFTER_A_REQUEST and not answered:
            return Verdict.LATER, AFTER_A_REQUEST[family]
        return Verdict.MISSING, f"the server has no {family}"

    return _judged(needs, SGLANG_STORED, page, absent)


def of_exporter(needs: Iterable[Need], page: Page) -> tuple[Outcome, ...]:
    """What the exporter's page has to have. Much of it comes and goes: absent, it counts if its collector failed."""
    success = {dict(one.labels).get("collector"): one.value for one in page.get(exporter.COLLECTOR_SUCCESS.name, ())}

    def absent(name: str) -> tuple[Verdict, str]:
        metric = _of_catalogue(name)
        if metric is None:
            return Verdict.MISSING, "no exporter that this command knows has it"
        if metric.collector == exporter.BUILD.collector:
            return Verdict.MISSING, "every exporter has it"
        if metric.collector not in success:
            return Verdict.MISSING, f"the exporter has no collector '{metric.collector}'; it may be older than this command"
        if not success[metric.collector]:
            return Verdict.MISSING, f"the exporter's collector '{metric.collector}' failed; its log says why"
        return Verdict.LATER, "nothing of the kind now"

    return _judged(needs, OWN, page, absent)


def _of_catalogue(name: str) -> Metric | None:
    return BY_NAME.get(name) or BY_NAME.get(_SUFFIX.sub("", name))


def _judged(needs: Iterable[Need], prefix: str, page: Page, absent: _Absent) -> tuple[Outcome, ...]:
    by_metric: dict[str, list[Need]] = {}
    for need in needs:
        if need.metric.startswith(prefix):
            by_metric.setdefault(need.metric, []).append(need)
    return tuple(outcome for name in sorted(by_metric) for outcome in _outcomes(name, by_metric[name], page, absent))


def _outcomes(name: str, needs: Sequence[Need], page: Page, absent: _Absent) -> Iterator[Outcome]:
    uses = _distinct(needs)
    series = page.get(name)
    if series is None:
        verdict, why = absent(name)
        known = name.startswith(OWN) and _of_catalogue(name) is not None  # then it isn't the spelling
        yield Outcome(name, verdict, uses, why, () if known or verdict is Verdict.LATER else nearest_words(name, page))
        return
    wrong = [(matcher, why) for matcher in _matchers(needs) if (why := _unmet(matcher, series))]
    if not wrong:
        yield Outcome(name, Verdict.THERE, uses)
    for matcher, why in wrong:
        near = nearest_words(matcher.label, {label for one in series for label, _ in one.labels})
        yield Outcome(name, Verdict.MISSING, _distinct(one for one in needs if matcher in one.matchers), why, near)


def _matchers(needs: Sequence[Need]) -> tuple[Matcher, ...]:
    every = (one for need in needs for one in need.matchers if one.needs_label and one.label not in _FROM_OUTSIDE)
    return tuple(dict.fromkeys(every))


def _unmet(matcher: Matcher, series: Sequence[Sample]) -> str:
    """Why no series can ever match, or nothing. Of values only bucket bounds are fixed; others come with what happens."""
    values = {value for one in series for label, value in one.labels if label == matcher.label}
    if not values:
        return f"it has no label '{matcher.label}'"
    if matcher.label != "le" or any(_matches(matcher, value) for value in values):
        return ""
    return f'it has no bucket le{matcher.operator}"{matcher.value}"; bounds are {", ".join(sorted(values, key=_bound)[:24])}'


def _bound(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("inf")


def _matches(matcher: Matcher, value: str) -> bool:
    if matcher.operator == "=":
        return value == matcher.value
    try:
        return re.fullmatch(matcher.value.replace("\\\\", "\\"), value) is not None
    except re.error:  # RE2, of Prometheus, knows what Python doesn't
        return True


def _distinct(needs: Iterable[Need]) -> tuple[Use, ...]:
    return tuple(sorted({need.use for need in needs}))
