"""Drift over a modelled host: what a deploy does about it, and that the same again then does nothing."""

from __future__ import annotations

import pytest

from ddtree_ops.report.deployment import Outcome
from tests.flows.test_deploy import NEW, OLD, deploy, serving_old

OWN = "/run/systemd/system/ddtree-server@30000.service.d/x.conf"
MISSING = {"changed": [], "missing": ["venv/a.py"], "added": [], "more": 0}


def test_the_look_is_one_command() -> None:
    model = serving_old(releases=[NEW.id], current=NEW.id, last_good=NEW.id)
    assert deploy(model).outcome is Outcome.NOTHING_TO_DO
    assert [argv[0] for argv in model.commands] == ["python3"]


def test_damaged_files_are_staged_anew_and_the_server_restarted() -> None:
    model = serving_old(releases=[NEW.id], current=NEW.id, last_good=NEW.id, files={NEW.id: MISSING})
    assert deploy(model, dry_run=True).outcome is Outcome.WOULD_CHANGE
    runs = model.runs
    assert deploy(model).outcome is Outcome.DEPLOYED
    assert model.repaired == [NEW.id]
    assert model.runs == runs + 1
    assert deploy(model).outcome is Outcome.NOTHING_TO_DO


def test_damage_of_the_old_release_is_not_repaired() -> None:
    model = serving_old(files={OLD: MISSING})
    assert deploy(model).outcome is Outcome.DEPLOYED
    assert model.repaired == []


def test_a_drop_in_of_the_unit_is_a_difference() -> None:
    model = serving_old(releases=[NEW.id], current=NEW.id, last_good=NEW.id, drop_ins=[OWN])
    runs = model.runs
    assert deploy(model).outcome is Outcome.DEPLOYED
    assert (model.runs, model.drop_ins) == (runs + 1, [])
    assert deploy(model).outcome is Outcome.NOTHING_TO_DO


@pytest.mark.parametrize("changes", [{"argv": ["launcher", "--other"]}, {"unit_edited": True}])
def test_a_server_that_runs_otherwise_is_restarted(changes: dict[str, object]) -> None:
    model = serving_old(releases=[NEW.id], current=NEW.id, last_good=NEW.id, **changes)
    runs = model.runs
    assert deploy(model).outcome is Outcome.DEPLOYED
    assert model.runs == runs + 1
    assert deploy(model).outcome is Outcome.NOTHING_TO_DO
