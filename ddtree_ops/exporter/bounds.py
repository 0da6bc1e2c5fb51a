"""What a collector may hand over: sound samples of its own metrics, so many and no more, each once."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

from ddtree_ops.exporter.metric import Sample, Type

LONGEST_LABEL = 240
_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_SUFFIXES = {Type.HISTOGRAM: ("_bucket", "_count", "_sum")}


def bounded(collector: str, samples: Iterable[Sample]) -> tuple[tuple[Sample, ...], int]:
    """The samples that are fit, in their order, and how many were not.

    Unfit: of another collector's metric, with too few or too many labels, there already, or beyond the metric's `most`; no
    number, or one that its unit can't be.
    Label values are cut and cleaned of control characters: they may come from logs and hosts.
    """
    kept: dict[tuple[str, str, tuple[str, ...], str | None], Sample] = {}
    counts: Counter[str] = Counter()
    dropped = 0
    for sample in samples:
        fit = _cleaned(sample)
        key = (fit.metric.name, fit.suffix, fit.labels, fit.le)
        if not _sound(collector, fit) or key in kept or counts[fit.metric.name] == fit.metric.most:
            dropped += 1
            continue
        counts[fit.metric.name] += 1
        kept[key] = fit
    return tuple(kept.values()), dropped


def _sound(collector: str, sample: Sample) -> bool:
    metric = sample.metric
    return (
        metric.collector == collector
        and _possible(sample)
        and len(sample.labels) == len(metric.labels)
        and sample.suffix in _SUFFIXES.get(metric.type, ("",))
        and (sample.le is not None) == (sample.suffix == "_bucket")
    )


def _possible(sample: Sample) -> bool:
    """NaN and infinity are nothing that was read; sums, and numbers of hostile files, become so. A ratio is from 0 to 1."""
    value = sample.value
    finite = isinstance(value, int | float) and math.isfinite(value)
    return finite and (not sample.metric.name.endswith("_ratio") or 0 <= value <= 1)


def _cleaned(sample: Sample) -> Sample:
    labels = tuple(map(_clean, sample.labels))
    if labels == sample.labels:
        return sample
    return Sample(sample.metric, sample.value, labels, sample.suffix, sample.le)


def _clean(value: str) -> str:
    return _UNFIT.sub(" ", value[:LONGEST_LABEL])
