"""The lower part of the server dashboard: GPUs, release, and the exporter that tells all this."""

from __future__ import annotations

from dashboards.grafana.source import queries as q
from dashboards.grafana.source import style
from dashboards.grafana.source.board import Strip
from dashboards.grafana.source.panels import lines, states
from dashboards.grafana.source.tables import Column, rows

GPU = "{{gpu}}"
UNCORRECTED, CORRECTED = 'type="uncorrected"', 'type="corrected"'
THROTTLE = {0: ("free", style.GOOD), 1: ("held down", style.BAD)}
SUCCESS = {0: ("FAILED", style.BAD), 1: ("ok", style.GOOD)}


def _of_gpus(metric: str) -> str:
    return f"max by (gpu) ({q.of_hosts('ddtree_ops_gpu_' + metric)})"


def _curves() -> Strip:
    heat = style.thresholds((None, style.GOOD), (83, style.WARN), (90, style.BAD))
    memory = f"{_of_gpus('memory_used_bytes')} / {_of_gpus('memory_size_bytes')}"
    return Strip(
        8,
        (
            (
                lines(
                    "Temperature by GPU",
                    "Throttling begins where the dashed lines are, about.",
                    style.query(_of_gpus("temperature_celsius"), GPU),
                    unit="celsius",
                    limits=heat,
                ),
                6,
            ),
            (lines("Power by GPU", "Draw of each GPU.", style.query(_of_gpus("power_watts"), GPU), unit="watt"), 6),
            (
                lines(
                    "GPU memory in use",
                    "Full from the start is normal: the KV pool takes what is left.",
                    style.query(memory, GPU),
                    unit="percentunit",
                    top=1,
                ),
                6,
            ),
            (
                lines(
                    "Busy GPUs",
                    "Part of the time in which a kernel ran.",
                    style.query(_of_gpus("utilization_ratio"), GPU),
                    unit="percentunit",
                    top=1,
                ),
                6,
            ),
        ),
    )


def _health() -> Strip:
    held = style.query(f"max by (gpu) ({q.of_hosts('ddtree_ops_gpu_throttled')})", GPU)
    bad = style.thresholds((None, "transparent"), (1, style.BAD))
    links = style.thresholds((None, style.BAD), (16, "transparent"))
    asked = (
        f"max by (gpu, name, driver, pci) ({q.of_hosts('ddtree_ops_gpu_info')})",
        f"sum by (gpu) ({q.of_hosts('ddtree_ops_gpu_ecc_errors_total', UNCORRECTED)})",
        f"sum by (gpu) ({q.of_hosts('ddtree_ops_gpu_ecc_errors_total', CORRECTED)})",
        _of_gpus("rows_remap_pending"),
        _of_gpus("rows_remap_failed"),
        _of_gpus("pcie_link_width_lanes"),
        _of_gpus("pcie_link_generation"),
        _of_gpus("nvlinks_active"),
    )
    columns = (
        Column("gpu", "GPU", width=50),
        Column("pci", "PCI", width=110),
        Column("name", "Name"),
        Column("B", "ECC uncorr.", "none", 0, 90, bad),
        Column("C", "ECC corr.", "none", 0, 80),
        Column("D", "Remap", "none", 0, 65, bad),
        Column("E", "Remap failed", "none", 0, 100, bad),
        Column("F", "Lanes", "none", 0, 60, links),
        Column("G", "Gen", "none", 0, 45),
        Column("H", "NVLinks", "none", 0, 75),
    )
    table = rows(
        "GPU health",
        "Counters of errors, rows of memory that wait for a reset, and links that are narrower than they could be.",
        [style.cells(expr, chr(65 + index)) for index, expr in enumerate(asked)],
        columns,
    )
    return Strip(8, ((states("Clocks held down, by GPU", "By power, heat or the hardware.", held, THROTTLE), 9), (table, 15)))


def _release() -> Strip:
    releases = style.cells(f"max by (port, role, release) ({q.of_hosts('ddtree_ops_release_info')})", "A")
    works = style.query(f"max by (collector) ({q.of_hosts('ddtree_ops_collector_success')})", "{{collector}}")
    behind = style.query(f"max by (port) (time() - {q.of_hosts('ddtree_ops_journal_read_timestamp_seconds')})", "port {{port}}")
    drift = style.query(f"max by (what) ({q.of_hosts('ddtree_ops_release_drift_items')}) > 0", "{{what}}")
    columns = (Column("role", "Role", width=100), Column("release", "Release"), Column("port", "Port", width=70))
    return Strip(
        7,
        (
            (rows("Releases", "What serves, what is current, what was good last.", [releases], columns), 6),
            (lines("Drift", "What differs from the release as it was staged.", drift, unit="none", bars=True, empty="none"), 5),
            (states("Collectors", "Whether each part of the exporter could read what it reads.", works, SUCCESS), 8),
            (lines("Journal is behind by", "Of what triage has read.", behind, unit="s"), 5),
        ),
    )


GPUS = (_curves(), _health())
HOUSEKEEPING = (_release(),)
