"""A launcher's prefix before a server's own: known or not, it is what stands before every line of a traceback."""

from __future__ import annotations

import pytest

from tests.triage.reading import from_text

_RECORD = """\
[2026-09-02 11:20:31{rank}] Scheduler hit an exception: Traceback (most recent call last):
  File "/opt/sglang/srt/managers/scheduler.py", line 2900, in run_scheduler_process
    scheduler = Scheduler(
  File "/opt/sglang/srt/model_executor/model_runner.py", line 233, in load_model
    raise RuntimeError(
RuntimeError: the first line
and the second
"""
_LAUNCHERS = ("[1,3]<stderr>: ", "(Engine pid=31) ", "(Engine pid=31, ip=10.0.0.1) ", "0|sglang   | ", "node7/w#3 <err> ", "x: ")


def _launched(launcher: str, rank: str) -> str:
    return "".join(f"{launcher}{line}\n" for line in _RECORD.format(rank=rank).splitlines())


@pytest.mark.parametrize("launcher", _LAUNCHERS)
@pytest.mark.parametrize("rank", ["", " TP1", " DP0 TP3"])
def test_a_record_behind_a_launchers_prefix(launcher: str, rank: str) -> None:
    (block,) = from_text(_launched(launcher, rank))
    (exception,) = block.exceptions
    assert (exception.complete, len(exception.frames)) == (True, 2)
    assert exception.message == "the first line\nand the second"
    assert block.header == "Scheduler hit an exception"
    assert block.record
    assert (block.rank or "") == (rank.strip() or ("rank3" if "1,3" in launcher else ""))


def test_two_ranks_of_one_launcher_stay_apart() -> None:
    one, other = (_launched(f"[1,{rank}]<stderr>: ", f" TP{rank}").splitlines() for rank in (3, 4))
    mixed = "\n".join(line for pair in zip(one, other, strict=True) for line in pair)
    blocks = from_text(mixed)
    assert [block.rank for block in blocks] == ["TP3", "TP4"]
    assert all(block.exceptions[0].complete and len(block.exceptions[0].frames) == 2 for block in blocks)


def test_words_before_a_header_are_no_launchers() -> None:
    text = _RECORD.format(rank="").replace("[2026-09-02 11:20:31] ", "")
    (block,) = from_text(text)
    assert (block.header, block.record, block.exceptions[0].complete) == ("Scheduler hit an exception", False, True)
