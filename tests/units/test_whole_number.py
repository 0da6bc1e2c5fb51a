"""Numbers in what a host says: what int() would refuse, or take for ever to read, is no number."""

from __future__ import annotations

import pytest

from ddtree_ops.fleet.state import Manifest, parse_committed, parse_gpus
from ddtree_ops.flows.crashes import parse_listing
from ddtree_ops.units.eta import read_history
from ddtree_ops.units.log_lines import split_message
from ddtree_ops.units.readiness import Readiness
from ddtree_ops.units.systemctl import Active, parse_show
from ddtree_ops.units.whole_number import MOST, whole_number

ODD = ["²", "٣", "", "-1", "+1", " 1", "1_0", "1.0", "9" * 5000]


@pytest.mark.parametrize("text", [*ODD, None, str(MOST + 1)])
def test_no_numbers(text: str | None) -> None:
    assert whole_number(text) is None


def test_numbers() -> None:
    assert (whole_number("0"), whole_number("007"), whole_number(str(MOST))) == (0, 7, MOST)
    assert (whole_number("65535", 65535), whole_number("65536", 65535)) == (65535, None)


@pytest.mark.parametrize("text", ODD)
def test_odd_numbers_of_a_host(text: str) -> None:
    state = parse_show(f"Id=ddtree-server@{text}.service\nMainPID={text}\nNRestarts={text}\nExecMainStatus={text}\n")
    assert (state.port, state.main_pid, state.restarts, state.exit_status) == (None, 0, 0, 0)
    assert Manifest("r", "", {"argv": ["--port", text]}).port is None
    assert parse_gpus(f"{text}, x, {text}, {text}, 12.0, 5") == () or text == " 1"
    assert parse_listing(f"20261130T010203Z-{'0' * 32}.export.gz\t{text}") == ()


def test_a_status_text_with_an_endless_number() -> None:
    watch = Readiness(0.0, 60.0, 60.0)
    watch.unit(parse_show(f"ActiveState=activating\nInvocationID=a\nStatusText=weights 5% eta {'9' * 5000}s\n"), 1.0)
    assert watch.waiting(2.0).eta is None


def test_a_state_of_a_newer_systemd_is_neither_up_nor_down() -> None:
    state = parse_show("LoadState=loaded\nActiveState=hibernating\nSubState=running\nMainPID=7\n")
    assert (state.active, state.serving, state.failed) == (Active.UNKNOWN, False, False)
    watch = Readiness(0.0, 60.0, 60.0)
    watch.unit(parse_show("ActiveState=hibernating\nInvocationID=a\n"), 1.0)
    watch.unit(parse_show("ActiveState=hibernating\nInvocationID=a\n"), 30.0)
    assert watch.verdict(31.0) is None


@pytest.mark.parametrize("line", ["[" * 100_000, "9" * 5000, '{"schema":"ddtree-ops/boot/v1","seconds":' + "9" * 400 + "}"])
def test_lines_of_a_hosts_files_that_are_no_records(line: str) -> None:
    assert parse_committed(line) == ()
    assert list(read_history([line])) == []


def test_a_log_line_of_an_endless_rank() -> None:
    (line,) = split_message(f"[2026-11-30 01:02:03 TP{'9' * 5000}] text")
    assert line.ranks == ()
