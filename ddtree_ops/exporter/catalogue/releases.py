"""Releases, drift, and what deploys, smoke tests and gates came to."""

from __future__ import annotations

from ddtree_ops.exporter.metric import PREFIX, Metric, Type

INFO = Metric(
    PREFIX + "release_info",
    Type.GAUGE,
    "1 for each release by role: serving, current, last_good.",
    "releases",
    ("port", "role", "release"),
    most=12,
)
SETTINGS = Metric(
    PREFIX + "server_settings_info",
    Type.GAUGE,
    "1; how the release that serves, else the current one, is configured. Models by the last part of their path.",
    "releases",
    ("port", "model", "draft_model", "algorithm", "tensor_parallel"),
    most=4,
)
COUNT = Metric(PREFIX + "releases_staged", Type.GAUGE, "Releases on this host.", "releases", most=1)
DRIFT = Metric(
    PREFIX + "release_drift_items",
    Type.GAUGE,
    "What differs from the current release as it was staged, by kind: file, unit, link, process, manifest, other.",
    "drift",
    ("what",),
    most=12,
)
DRIFT_CHECKED = Metric(
    PREFIX + "release_drift_checked_timestamp_seconds", Type.GAUGE, "When drift was last looked for, Unix time.", "drift", most=1
)
DEADMAN = Metric(
    PREFIX + "deploy_deadline_timestamp_seconds",
    Type.GAUGE,
    "When the host goes back by itself unless the running deploy is committed, Unix time; absent without one.",
    "releases",
    most=1,
)
DEPLOYS = Metric(
    PREFIX + "deploys_total",
    Type.COUNTER,
    "Finished attempts by event (deploy, rollback, start, stop, restart, dead_man) and result (ok, failed, rolled_back, refused, "
    "interrupted). Those of deploy and rollback start at 0.",
    "deploys",
    ("event", "result"),
    most=40,
)
DEPLOY_LAST = Metric(
    PREFIX + "deploy_last_timestamp_seconds",
    Type.GAUGE,
    "When the last such attempt ended, Unix time.",
    "deploys",
    ("event", "result"),
    most=40,
)
DEPLOY_SECONDS = Metric(
    PREFIX + "deploy_last_duration_seconds",
    Type.GAUGE,
    "How long the last attempt of that event took.",
    "deploys",
    ("event",),
    most=8,
)
SMOKE = Metric(PREFIX + "smoke_success", Type.GAUGE, "1 if the last smoke test of a deploy passed.", "deploys", most=1)
SMOKE_SECONDS = Metric(
    PREFIX + "smoke_latency_seconds",
    Type.GAUGE,
    "Seconds to the answer of each smoke question, the last time; at most 16 numbered questions.",
    "deploys",
    ("question",),
    most=16,
)
GATE = Metric(PREFIX + "gate_success", Type.GAUGE, "1 if the last acceptance gate passed.", "deploys", most=1)
GATE_LENGTH = Metric(
    PREFIX + "gate_acceptance_length_tokens", Type.GAUGE, "Acceptance length that the last gate measured.", "deploys", most=1
)

ALL = (
    INFO,
    SETTINGS,
    COUNT,
    DRIFT,
    DRIFT_CHECKED,
    DEADMAN,
    DEPLOYS,
    DEPLOY_LAST,
    DEPLOY_SECONDS,
    SMOKE,
    SMOKE_SECONDS,
    GATE,
    GATE_LENGTH,
)
