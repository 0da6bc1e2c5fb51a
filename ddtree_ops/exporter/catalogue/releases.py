"""Releases, drift, and what deploys, smoke tests and gates came to."""

from __future__ import annotations

from ddtree_ops.exporter.metric import Subject

_RELEASES = Subject("releases", ("port",), most=4)
_STAGED = Subject("releases")
_DRIFT = Subject("drift")
_DEPLOYS = Subject("deploys", ("event",), most=8)
_CHECKS = Subject("deploys")

INFO = _RELEASES.gauge("release_info", "1 for each release by role: serving, current, last_good.", "role", "release", most=12)
SETTINGS = _RELEASES.gauge(
    "server_settings_info",
    "1; how the release that serves, else the current one, is configured. Models by the last part of their path.",
    "model",
    "draft_model",
    "algorithm",
    "tensor_parallel",
)
COUNT = _STAGED.gauge("releases_staged", "Releases on this host.")
DRIFT = _DRIFT.gauge(
    "release_drift_items",
    "What differs from the current release as it was staged, by kind: file, unit, link, process, manifest, other.",
    "what",
    most=12,
)
DRIFT_CHECKED = _DRIFT.gauge("release_drift_checked_timestamp_seconds", "When drift was last looked for, Unix time.")
DEADMAN = _STAGED.gauge(
    "deploy_deadline_timestamp_seconds",
    "When the host goes back by itself unless the running deploy is committed, Unix time; absent without one.",
)
DEPLOYS = _DEPLOYS.counter(
    "deploys_total",
    "Finished attempts by event (deploy, rollback, start, stop, restart, dead_man) and result (ok, failed, rolled_back, refused, "
    "interrupted). Those of deploy and rollback start at 0.",
    "result",
    most=40,
)
DEPLOY_LAST = _DEPLOYS.gauge("deploy_last_timestamp_seconds", "When the last such attempt ended, Unix time.", "result", most=40)
DEPLOY_SECONDS = _DEPLOYS.gauge("deploy_last_duration_seconds", "How long the last attempt of that event took.")
SMOKE = _CHECKS.gauge("smoke_success", "1 if the last smoke test of a deploy passed.")
SMOKE_SECONDS = _CHECKS.gauge(
    "smoke_latency_seconds",
    "Seconds to the answer of each smoke question, the last time; at most 16 numbered questions.",
    "question",
    most=16,
)
GATE = _CHECKS.gauge("gate_success", "1 if the last acceptance gate passed.")
GATE_LENGTH = _CHECKS.gauge("gate_acceptance_length_tokens", "Acceptance length that the last gate measured.")
