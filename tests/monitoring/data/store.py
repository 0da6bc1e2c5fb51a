"""A real Prometheus over the scenario's data: blocks made by promtool, served by Debian's binary on a free port of loopback."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.monitoring.data.openmetrics import write
from tests.ports import free_port

START_SECONDS = 120.0
"""Until it hangs; it takes a second."""


class QueryFailed(Exception):
    """Prometheus refused a query; the text is its own."""


@dataclass(frozen=True, slots=True)
class Series:
    """One series of an answer: its labels, and (Unix time, value) in order of time."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Store:
    """A running Prometheus. API: prometheus.io/docs, "HTTP API"."""

    url: str

    def instant(self, expr: str, at: float) -> tuple[Series, ...]:
        """The series of a query at one moment. Raises QueryFailed."""
        found = self._get("query", query=expr, time=f"{at}")
        return tuple(Series(item["metric"], (_point(item["value"]),)) for item in found["result"])

    def range(self, expr: str, begin: float, end: float, step: float) -> tuple[Series, ...]:
        """The series of a query over a time. Raises QueryFailed."""
        found = self._get("query_range", query=expr, start=f"{begin}", end=f"{end}", step=f"{step}")
        return tuple(Series(item["metric"], tuple(map(_point, item["values"]))) for item in found["result"])

    def label_values(self, selector: str, label: str, begin: float, end: float) -> tuple[str, ...]:
        """What Grafana's label_values() asks. Raises QueryFailed."""
        found: list[str] = self._get(f"label/{label}/values", **{"match[]": selector, "start": f"{begin}", "end": f"{end}"})
        return tuple(found)

    def names(self) -> frozenset[str]:
        """Every metric name that is stored."""
        return frozenset(self._get("label/__name__/values"))

    def _get(self, path: str, **query: str) -> Any:
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=START_SECONDS) as answer:  # noqa: S310 - loopback
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise QueryFailed(json.load(error).get("error", str(error))) from error


@contextmanager
def filled_store(folder: Path) -> Iterator[Store]:
    """Prometheus with the whole scenario, in an empty folder; it ends with the block."""
    exposition, blocks = folder / "scenario.om", folder / "blocks"
    with exposition.open("w") as out:
        write(out)
    _run("promtool", "tsdb", "create-blocks-from", "openmetrics", str(exposition), str(blocks))
    exposition.unlink()
    config = folder / "prometheus.yml"
    config.write_text("scrape_configs: []\n")
    port = free_port()
    command = (
        _binary("prometheus"),
        f"--config.file={config}",
        f"--storage.tsdb.path={blocks}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--storage.tsdb.retention.time=100y",
        # Blocks have no staleness markers, which a scraped server has: a series ends two steps after its last sample.
        "--query.lookback-delta=61s",
        "--log.level=error",
    )
    with (folder / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT) as process:
        try:
            _wait(port, process, folder / "log")
            yield Store(f"http://127.0.0.1:{port}")
        finally:
            process.terminate()


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise AssertionError(f"Prometheus isn't ready: {log.read_text()[-2000:]}")


def _run(name: str, *arguments: str) -> None:
    done = subprocess.run((_binary(name), *arguments), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{name}: {done.stderr[-2000:]}"


def _binary(name: str) -> str:
    found = shutil.which(name)
    assert found, f"{name} is not installed: Debian's package prometheus has it"
    return found


def _point(pair: list[Any]) -> tuple[float, float]:
    return float(pair[0]), float(pair[1])
