"""Targets in the JSON that Prometheus takes from HTTP and from files (prometheus.io/docs, "HTTP SD" and file_sd_config)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from ddtree_ops.fleet.scrape_targets import HostTargets, Job, ScrapeTarget

CONTENT_TYPE = "application/json"  # the one that http_sd demands
ALL = ""
# By which a scrape configuration picks a job's targets out of the list of all.
JOB_LABEL = "__meta_ddtree_job"


def by_job(hosts: Iterable[HostTargets]) -> Mapping[str, tuple[ScrapeTarget, ...]]:
    """Targets of each job, in the inventory's order, and of all jobs at `ALL`. Every job has its place, be it empty."""
    found: dict[str, list[ScrapeTarget]] = {ALL: [], **{str(job): [] for job in Job}}
    for host in hosts:
        for target in host.targets:
            found[str(target.job)].append(target)
            found[ALL].append(target)
    return {job: tuple(targets) for job, targets in found.items()}


def as_json(targets: Iterable[ScrapeTarget]) -> bytes:
    """A list of target groups. The same targets give the same bytes."""
    groups = [{"targets": [one.address], "labels": {**one.labels, JOB_LABEL: str(one.job)}} for one in targets]
    # Not ASCII-escaped surrogates: a name that is no UTF-8 would make Prometheus refuse the whole list.
    return json.dumps(groups, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
