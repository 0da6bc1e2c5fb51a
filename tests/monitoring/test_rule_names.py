"""Every series that a rule reads exists: in our catalogue, in a recorded /metrics, or in what the real programs answer."""

from __future__ import annotations

import re
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import yaml

from ddtree_ops.exporter.catalogue import METRICS
from ddtree_ops.exporter.metric import Type
from tests.monitoring.promtool import HOME, PROJECT, metrics, program, rules
from tests.monitoring.scraped import HANGS, RECORDED
from tests.ports import free_port

OUTSIDE = ("node_", "probe_", "prometheus_")


def read_by_rules() -> set[str]:
    """Without what rules record themselves, and `up`, which every scrape makes."""
    return {name for rule in rules() for name in metrics(rule.expression)} - {rule.name for rule in rules()} - {"up"}


def test_names_of_ours_and_of_sglang_exist() -> None:
    ours = {metric.name + end for metric in METRICS for end in _ends(metric.type)}
    recorded = set(re.findall(r"^(\w[\w:]*)", RECORDED.read_text(), re.MULTILINE))
    recorded |= {name.replace("sglang:", "sglang_") for name in recorded}
    assert {name for name in read_by_rules() if not name.startswith(OUTSIDE)} <= ours | recorded


def test_both_spellings_of_sglangs_names_are_read() -> None:
    found = {name for name in read_by_rules() if re.match("sglang[:_]", name)}
    assert found
    assert {name.replace("sglang:", "sglang_") for name in found} == {name for name in found if "sglang_" in name}
    assert len({name for name in found if ":" in name}) * 2 == len(found)


def test_labels_of_ours_exist() -> None:
    labels = {metric.name + end: {*metric.labels, "host"} for metric in METRICS for end in _ends(metric.type)}
    for rule in rules():
        for name, matchers in re.findall(r"(ddtree_ops_\w+)\{([^}]*)\}", rule.expression):
            used = set(re.findall(r"(\w+)\s*(?:=|!=|=~|!~)\"", matchers))
            assert used <= labels[name], f"{rule.name}: {name} has no {used - labels[name]}"


def test_objectives_are_bounds_of_the_histograms() -> None:
    objectives = yaml.safe_load((HOME / "objectives.yml").read_text())
    for name, key in (("time_to_first_token_seconds", "ttft"), ("inter_token_latency_seconds", "inter_token")):
        bounds = re.findall(name + r'_bucket\{.*?le="([\d.]+)"', RECORDED.read_text())
        assert objectives[key]["seconds"] in set(map(float, bounds))


@pytest.mark.processes
def test_names_of_the_exporters_and_of_prometheus_exist(tmp_path: Path) -> None:
    """Asked of the programs themselves, with our rules loaded; the blackbox exporter probes its own TLS."""
    web = _certificate(tmp_path)
    modules = {"modules": {"tls": {"prober": "http", "http": {"tls_config": {"insecure_skip_verify": True}}}}}
    (tmp_path / "blackbox.yml").write_text(yaml.safe_dump(modules))
    managers = {"alertmanagers": [{"static_configs": [{"targets": ["127.0.0.1:9"]}]}]}
    rule_files = [str(HOME / "rules" / "*.yml")]
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump({"rule_files": rule_files, "alerting": managers}))
    node, probe, own = (free_port() for _ in range(3))
    blackbox = (f"--config.file={tmp_path}/blackbox.yml", f"--web.config.file={web}")
    storage = (f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data")
    with (
        _running("prometheus-node-exporter", node),
        _running("prometheus-blackbox-exporter", probe, *blackbox),
        _running("prometheus", own, *storage),
    ):
        target = f"https://127.0.0.1:{probe}"
        text = _answer(f"http://127.0.0.1:{node}/metrics") + _answer(f"{target}/probe?module=tls&target={target}/")
        text += _until("prometheus_notifications_errors_total{", f"http://127.0.0.1:{own}/metrics")
    missing = {name for name in read_by_rules() if name.startswith(OUTSIDE)} - set(re.findall(r"^(\w+)", text, re.MULTILINE))
    assert not missing
    groups = set(re.findall(r'prometheus_rule_evaluation_failures_total\{rule_group="[^"]*;(\w+)"\} 0', text))
    assert groups == {rule.group for rule in rules()}


def _ends(kind: Type) -> tuple[str, ...]:
    return ("_bucket", "_count", "_sum") if kind is Type.HISTOGRAM else ("",)


def _certificate(folder: Path) -> Path:
    key, certificate = folder / "key.pem", folder / "cert.pem"
    kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj", "/CN=test")
    argv = (program("openssl"), "req", "-x509", *kind, "-keyout", str(key), "-out", str(certificate))
    subprocess.run(argv, check=True, capture_output=True)
    web = folder / "web.yml"
    web.write_text(yaml.safe_dump({"tls_server_config": {"cert_file": str(certificate), "key_file": str(key)}}))
    return web


@contextmanager
def _running(name: str, port: int, *arguments: str) -> Iterator[None]:
    argv = (program(name), f"--web.listen-address=127.0.0.1:{port}", "--log.level=error", *arguments)
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=PROJECT)
    try:
        yield
    finally:
        process.terminate()
        process.wait(10)


def _answer(url: str) -> str:
    return _until("", url)


def _until(wanted: str, url: str) -> str:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # its own certificate, on loopback
    text = "no answer"
    end = time.monotonic() + HANGS
    while time.monotonic() < end:
        with suppress(OSError):  # it doesn't listen yet
            with urllib.request.urlopen(url, timeout=5, context=context if url.startswith("https") else None) as answer:  # noqa: S310
                text = str(answer.read().decode())
            if wanted in text:
                return text
        time.sleep(0.1)
    raise AssertionError(f"{url} never had {wanted!r}: {text[:200]}")
