"""The exposition: a golden file from recorded answers, through Prometheus' own parser and linter."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

import pytest

from ddtree_ops import __version__
from ddtree_ops.exporter.catalogue import METRICS
from ddtree_ops.exporter.collectors.boots import BootsCollector
from ddtree_ops.exporter.collectors.unit import UnitCollector
from ddtree_ops.exporter.exposition import render
from ddtree_ops.exporter.metric import PREFIX, Metric, Sample, Type
from ddtree_ops.exporter.sampler import Sampler
from ddtree_ops.exporter.snapshot import CollectorState, Snapshot
from tests.exporter.said_shell import LIST, RECORDED, recorded, target

GOLDEN = RECORDED / "exposition.txt"


class Still:
    def monotonic(self) -> float:
        return 0.0


def exposition(show: str) -> bytes:
    answers = {
        "show": show,
        "list": LIST,
        "boots": recorded("boots.jsonl"),
        "files": "30000.jsonl\n",
        "current": "releases/lab-a3a9c0ef34\n",
    }
    found, _ = target(date="1796028807.0\n", **answers)
    return render(Sampler([UnitCollector(found), BootsCollector(found, None)], Still(), lambda: 1796028807.0).read_once())


def one_of_each() -> Snapshot:
    """A sample of every metric of the catalogue, with labels that need escaping."""
    samples: dict[str, list[Sample]] = {}
    for metric in METRICS:
        samples.setdefault(metric.collector, []).extend(_each(metric))
    return Snapshot(
        {name: tuple(own) for name, own in samples.items() if name != "exporter"},
        {name: CollectorState(True, 0.001, 1796028807.0) for name in samples},
        1796028807.0,
    )


def _each(metric: Metric) -> Sequence[Sample]:
    labels = tuple(f'a"\\{name} {{}}' for name in metric.labels)
    if metric.type is not Type.HISTOGRAM:
        return [Sample(metric, 1.0, labels)]
    buckets = [Sample(metric, number, labels, "_bucket", le) for number, le in ((1.0, "1.0"), (2.0, "+Inf"))]
    return [*buckets, Sample(metric, 2.0, labels, "_count"), Sample(metric, 3.0, labels, "_sum")]


def promtool(text: bytes) -> str:
    program = shutil.which("promtool")
    if program is None:
        assert "CI" not in os.environ, "CI installs Debian's package prometheus"
        pytest.skip("promtool (Debian's package prometheus) isn't installed")
    done = subprocess.run([program, "check", "metrics"], input=text, capture_output=True, check=False, timeout=30)
    return f"{done.returncode} {(done.stdout + done.stderr).decode()}".strip()


def test_golden() -> None:
    found = exposition(recorded("unit_loading.txt")).decode().replace(__version__, "VERSION", 1)
    if "GOLDEN" in os.environ:
        GOLDEN.write_text(found)
    assert found == GOLDEN.read_text()


@pytest.mark.processes
@pytest.mark.parametrize("state", ["loading", "serving", "crashed"])
def test_promtool_has_nothing_to_say_of_a_host(state: str) -> None:
    assert promtool(exposition(recorded(f"unit_{state}.txt"))) == "0"


@pytest.mark.processes
def test_promtool_has_nothing_to_say_of_the_whole_catalogue() -> None:
    text = render(one_of_each())
    assert all(f"# TYPE {metric.name} {metric.type}\n".encode() in text for metric in METRICS)
    assert promtool(text) == "0"


def test_names_and_labels_of_the_catalogue_are_bounded() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    for metric in METRICS:
        assert metric.name.startswith(PREFIX)
        assert metric.name.isascii()
        assert metric.name == metric.name.lower()
        assert (metric.type is Type.COUNTER) == metric.name.endswith("_total")
        assert len(set(metric.labels)) == len(metric.labels) <= 7
        assert not {"host", "hardware", "instance", "job", "le"} & set(metric.labels)
        assert 0 < metric.most <= 400
        assert metric.most > 1 or not metric.labels or metric.labels == ("version",)
    assert sum(metric.most for metric in METRICS) < 4000


def test_help_is_one_sentence_or_two() -> None:
    for metric in METRICS:
        assert metric.text.rstrip().endswith(".")
        assert len(metric.text) < 200
        assert "\n" not in metric.text
