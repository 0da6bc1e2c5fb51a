"""What dashboards and rules need, against what a server and its exporter really say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ddtree_ops.exporter.catalogue import BY_NAME, exporter
from ddtree_ops.exporter.metric import Metric
from ddtree_ops.exporter.metric_names.bounds import beyond, bound, matches
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


_Absent = Callable[[str], tuple[Verdict, str, str]]
_OTHER_SGLANG = "another version of SGLang: change who needs it, or rename in dashboards/prometheus/scrape.yml.j2"
_OLD_EXPORTER = "install the exporter again, from the version of this command"
_FAILED = "look at the exporter's journal on the host: journalctl -u ddtree-exporter"
_NEVER = "change who needs it: this version's exporter never has it"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One metric that is needed. `why` says what is missing or when it will come; `near` are names that the page does have.

    `fix` is what to do about one that is missing.
    """

    metric: str
    verdict: Verdict
    uses: tuple[Use, ...]
    why: str = ""
    near: tuple[str, ...] = ()
    fix: str = ""


def read_page(body: bytes) -> Page:
    """Series of SGLang and of our exporter by the names under which they are stored; other names are left out. Never raises."""
    found: dict[str, list[Sample]] = {}
    for sample in parse_samples(body, SGLANG, SGLANG_STORED, OWN, most=MOST_SERIES):
        found.setdefault(stored(sample.name), []).append(sample)
    return {name: tuple(series) for name, series in found.items()}


def of_server(needs: Iterable[Need], page: Page, *, speculates: bool) -> tuple[Outcome, ...]:
    """What the server's own page has to have. `speculates`: a draft is configured, so its counters are expected."""
    answered = any(one.value > 0 for one in page.get(ANSWERED, ()))

    def absent(name: str) -> tuple[Verdict, str, str]:
        family = _SUFFIX.sub("", name)
        if not speculates and family.startswith(WITH_SPECULATION):
            return Verdict.LATER, "only a server with a draft model has it", ""
        if family in ONCE_IT_HAPPENED:
            return Verdict.LATER, ONCE_IT_HAPPENED[family], ""
        if family in AFTER_A_REQUEST and not answered:
            return Verdict.LATER, AFTER_A_REQUEST[family], ""
        return Verdict.MISSING, f"the server has no {family}", _OTHER_SGLANG

    return _judged(needs, SGLANG_STORED, page, absent)


def of_exporter(needs: Iterable[Need], page: Page, *, not_run: frozenset[str] | None = None) -> tuple[Outcome, ...]:
    """What the exporter's page has to have. Much of it comes and goes: absent, it counts if its collector failed.

    `not_run`: the page is of a process beside the one that is scraped, which lacks these collectors. What fails there
    says nothing of the other.
    """
    strangers = [name for name in page if name.startswith(OWN) and _of_catalogue(name) is None]
    success = {dict(one.labels).get("collector"): one.value for one in page.get(exporter.COLLECTOR_SUCCESS.name, ())}

    def absent(name: str) -> tuple[Verdict, str, str]:
        metric = _of_catalogue(name)
        if metric is None:
            return Verdict.MISSING, "no exporter that this command knows has it", _NEVER
        if metric.collector == exporter.BUILD.collector:
            return Verdict.MISSING, "every exporter has it", _OLD_EXPORTER
        if not_run is not None and not success.get(metric.collector, metric.collector not in not_run):
            why = f"`exporter --once` can't tell of collector '{metric.collector}'; alert CollectorFailing does"
            return Verdict.LATER, why, ""
        if metric.collector not in success:
            return Verdict.MISSING, f"the exporter has no collector '{metric.collector}'", _OLD_EXPORTER
        if not success[metric.collector]:
            return Verdict.MISSING, f"the exporter's collector '{metric.collector}' failed", _FAILED
        renamed = nearest_words(name, strangers)
        if renamed:
            return Verdict.MISSING, f"the exporter has {renamed[0]}, which this command doesn't know", _OLD_EXPORTER
        return Verdict.LATER, "nothing of the kind now", ""

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
        verdict, why, fix = absent(name)
        known = name.startswith(OWN) and _of_catalogue(name) is not None  # then it isn't the spelling
        yield Outcome(name, verdict, uses, why, () if known or verdict is Verdict.LATER else nearest_words(name, page), fix)
        return
    unmet = [(matcher, why) for matcher in _matchers(needs) if (why := _unmet(matcher, series))]
    missing = False
    for matcher, why in unmet:
        users = _distinct(one for one in needs if matcher in one.matchers)
        most = beyond(matcher, _values(series, matcher.label)) if matcher.label == "le" else None
        if most is not None:
            yield Outcome(name, Verdict.LATER, users, f"bounds beyond {most:g} don't come with this configuration")
            continue
        near = nearest_words(matcher.label, {label for one in series for label, _ in one.labels})
        missing = True
        yield Outcome(name, Verdict.MISSING, users, why, near, _NEVER if name.startswith(OWN) else _OTHER_SGLANG)
    if not missing:
        yield Outcome(name, Verdict.THERE, uses)


def _matchers(needs: Sequence[Need]) -> tuple[Matcher, ...]:
    every = (one for need in needs for one in need.matchers if one.needs_label and one.label not in _FROM_OUTSIDE)
    return tuple(dict.fromkeys(every))


def _unmet(matcher: Matcher, series: Sequence[Sample]) -> str:
    """Why no series can ever match, or nothing. Of values only bucket bounds are fixed; others come with what happens."""
    values = _values(series, matcher.label)
    if not values:
        return f"it has no label '{matcher.label}'"
    if matcher.label != "le" or any(matches(matcher, value) for value in values):
        return ""
    bounds = ", ".join(sorted(values, key=bound)[:24])
    return f'it has no bucket le{matcher.operator}"{matcher.value}"; bounds are {bounds}'


def _values(series: Sequence[Sample], wanted: str) -> set[str]:
    return {value for one in series for label, value in one.labels if label == wanted}


def _distinct(needs: Iterable[Need]) -> tuple[Use, ...]:
    return tuple(sorted({need.use for need in needs}))
