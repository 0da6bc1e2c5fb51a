"""The whole scenario as OpenMetrics text with times, for `promtool tsdb create-blocks-from openmetrics`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from ddtree_ops.exporter.metric import Sample
from tests.monitoring.data.exporter_facts import failure_samples, release_samples, speculation_samples
from tests.monitoring.data.exporter_gpus import gpu_samples
from tests.monitoring.data.exporter_unit import own_samples, server_samples, unit_samples
from tests.monitoring.data.fleet import HOSTS
from tests.monitoring.data.scenario import PORT
from tests.monitoring.data.server_exposition import Line, server_lines
from tests.monitoring.data.walk import Tick, walk


def exporter_samples(tick: Tick) -> Iterator[Sample]:
    """Everything that the exporter of a host tells at one scrape."""
    for part in (
        own_samples,
        unit_samples,
        server_samples,
        speculation_samples,
        release_samples,
        failure_samples,
        gpu_samples,
    ):
        yield from part(tick)


def scraped(tick: Tick) -> Iterator[Line]:
    """All series of a host at one moment with the labels that discovery and Prometheus add. As in the scrape configuration,
    a label of the exporter that discovery has, too, becomes `exported_...`."""
    host = tick.host
    found = {"host": host.name, "hardware": host.hardware, "model": host.model, "instance": host.name, "job": "ddtree-exporter"}
    yield Line("up", tuple(found.items()), 1.0)
    for sample in exporter_samples(tick):
        own = dict(zip(sample.metric.labels, sample.labels, strict=True)) | ({"le": sample.le} if sample.le else {})
        kept = {f"exported_{name}" if name in found else name: value for name, value in own.items()}
        yield Line(sample.metric.name + sample.suffix, tuple({**kept, **found}.items()), sample.value)
    found |= {"job": "sglang", "port": PORT, "instance": f"{host.name}:{PORT}"}
    yield Line("up", tuple(found.items()), float(tick.now.serving))
    for line in server_lines(tick):
        yield Line(line.name, tuple({**dict(line.labels), **found}.items()), line.value)


def write(out: TextIO) -> int:
    """Write the scenario, the lines of a series together and in order of time. The number of samples."""
    series: dict[tuple[str, tuple[tuple[str, str], ...]], list[str]] = {}
    for host in HOSTS:
        for tick in walk(host):
            stamp = f" {tick.time:.0f}\n"
            for line in scraped(tick):
                series.setdefault((line.name, line.labels), []).append(f"{line.value!r}{stamp}")
    for (name, labels), lines in sorted(series.items()):
        key = name + "{" + ",".join(f'{label}="{_escaped(value)}"' for label, value in labels) + "} "
        out.writelines(key + line for line in lines)
    out.write("# EOF\n")
    return sum(map(len, series.values()))


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
