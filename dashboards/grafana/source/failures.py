"""Failures: what failed, why, what to do, and whether it comes again."""

from __future__ import annotations

from grafana_foundation_sdk.builders import table, timeseries

from dashboards.grafana.source import queries as q
from dashboards.grafana.source import style
from dashboards.grafana.source.board import Board, Section, Strip, even
from dashboards.grafana.source.panels import lines, number
from dashboards.grafana.source.shared import recently, state_bands
from dashboards.grafana.source.tables import Column, rows

ROOT = 'role="root"'
VICTIM = 'victim="server"'
BROKEN = 'result=~"failed|rolled_back"'
# They don't begin at 0: no increase would show a first one.
OTHERS = q.of_hosts("ddtree_ops_failures_total", 'role!="root"')
WINDOW = "5m"


def _now() -> Strip:
    roots = recently("ddtree_ops_failures_total", ROOT)
    hosts = style.now(f"count(sum by (host) ({roots}) > 0) or vector(0)")
    restarts = style.now(f"round(sum({recently('ddtree_ops_unit_restarts_total')}))")
    xid = style.now(f"sum({q.of_hosts('ddtree_ops_kernel_xid_errors_total')}) or vector(0)")
    kills = style.now(f"round(sum({recently('ddtree_ops_kernel_oom_kills_total', VICTIM)}))")
    deploys = style.now(f"round(sum({recently('ddtree_ops_deploys_total', BROKEN)}))")
    bad, warn = style.BAD_FROM_ONE, style.WARN_FROM_ONE
    return even(
        4,
        number("Root failures", "Within the time range.", style.now(f"round(sum({roots}))"), limits=bad),
        number("Hosts that failed", "Within the time range.", hosts, limits=bad),
        number("Restarts", "By systemd, within the time range.", restarts, limits=warn),
        number("Xid errors", "Of the NVIDIA driver, since the exporters began to count.", xid, limits=bad),
        number("OOM kills", "Of servers' processes by the kernel, within the time range.", kills, limits=bad),
        number("Broken deploys", "Failed or rolled back, within the time range.", deploys, limits=warn),
    )


def _list() -> table.Panel:
    last = q.of_hosts("ddtree_ops_failure_last_timestamp_seconds", ROOT)
    info = q.of_hosts("ddtree_ops_failure_info")
    asked = (
        f"1000 * max by (host, port, fingerprint, kind) ({last})",
        f"max by (host, port, fingerprint) ({q.of_hosts('ddtree_ops_failure_occurrences_total')})\n"
        f"and on (host, port, fingerprint) {last}",
        f"max by (host, port, fingerprint, cause, fix) ({info})",
    )
    columns = (
        Column("A", "When", "dateTimeAsIso", width=160),
        Column("host", "Host", width=100),
        Column("port", "Port", width=65),
        Column("kind", "Kind", width=220),
        Column("cause", "Cause"),
        Column("fix", "First thing to do"),
        Column("B", "Times", "none", 0, 65),
        Column("fingerprint", "Fingerprint", width=110),
    )
    words = (
        "The newest failures that triage found. `ddtree-ops triage --host HOST` explains one in full; "
        "its report is on the exporter's page under /reports/FINGERPRINT."
    )
    queries = [style.cells(expr, chr(65 + index)) for index, expr in enumerate(asked)]
    return rows("Root failures, newest first", words, queries, columns, newest="When", empty="none known")


def _bars(title: str, description: str, metric: str, more: str, by: str) -> tuple[timeseries.Panel, int]:
    """How often something happened in each five minutes, counted once: rate windows would overlap. Nothing, no legend."""
    counter = f"sum by ({by}) ({q.of_hosts(metric, more)})"
    grown = f"(\n  {counter}\n  - {counter.removesuffix(')')} offset $__interval)\n) > 0"
    legend = " ".join("{{" + label + "}}" for label in by.split(", "))
    return lines(title, description, style.query(grown, legend).interval(WINDOW), unit="none", bars=True, empty="none"), 8


def _over_time() -> tuple[Strip, ...]:
    others = style.query(f"sum by (role, kind) ({OTHERS})", "{{role}}: {{kind}}")
    follow = "Consequences and single requests that failed, counted so far; they page nobody."
    boots = ("Crashed, stalled or refused to start.", "ddtree_ops_boots_total", 'outcome!~"ready|stopped"')
    return (
        Strip(
            8,
            (
                _bars("Root failures", "By kind, in five minutes each.", "ddtree_ops_failures_total", ROOT, "host, kind"),
                (lines("What follows from them", follow, others, unit="none", empty="none"), 8),
                _bars("Restarts", "By systemd.", "ddtree_ops_unit_restarts_total", "", "host, port"),
            ),
        ),
        Strip(
            8,
            (
                _bars("Boots that ended badly", *boots, "host, outcome"),
                _bars("Deploys", "By event and result.", "ddtree_ops_deploys_total", "", "host, event, result"),
                _bars("Kernel OOM kills", "Of servers, or of others.", "ddtree_ops_kernel_oom_kills_total", "", "host, victim"),
            ),
        ),
    )


def _hardware() -> Strip:
    xid = style.query(
        f"sum by (host, gpu, xid) ({q.of_hosts('ddtree_ops_kernel_xid_errors_total')})", "{{host}} GPU {{gpu}}: Xid {{xid}}"
    )
    ecc = style.query(
        f"sum by (host, gpu, type) ({q.of_hosts('ddtree_ops_gpu_ecc_errors_total')}) > 0", "{{host}} GPU {{gpu}} {{type}}"
    )
    missing = style.query(
        f"sum by (host) ({q.of_hosts('ddtree_ops_gpus_expected')}) - sum by (host) ({q.of_hosts('ddtree_ops_gpus_seen')})",
        "{{host}}",
    )
    return Strip(
        7,
        (
            (
                lines(
                    "Xid errors",
                    "Counted so far. 79 is a GPU that fell off the bus; 48, 63, 64, 94 and 95 are memory.",
                    xid,
                    unit="none",
                    empty="none",
                ),
                8,
            ),
            (lines("ECC errors", "Counted so far, by GPU.", ecc, unit="none", empty="none"), 8),
            (
                lines(
                    "GPUs missing",
                    "Needed by the release, not shown by the driver.",
                    missing,
                    unit="none",
                    limits=style.BAD_FROM_ONE,
                ),
                8,
            ),
        ),
    )


FAILURES = Board(
    uid="ddtree-failures",
    title="DDTree failures",
    description="What failed, why, and what to do.",
    sections=(
        Section("", (_now(), Strip(7, ((_list(), 24),)), Strip(6, ((state_bands(), 24),)))),
        Section("Over time", _over_time()),
        Section("Hardware", (_hardware(),)),
    ),
    begin="now-24h",
)
