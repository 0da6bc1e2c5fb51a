"""Parsers of what is read of a host, on output as the programs print it."""

from __future__ import annotations

import pytest

from ddtree_ops.fleet import state
from ddtree_ops.ports import Completed


def test_committed_releases_latest_first_without_torn_lines() -> None:
    lines = ['{"event": "commit", "release": "a"}', '{"event": "commit", "release": "b"}', '{"event": "comm', "[]"]
    lines.append('{"event": "commit", "release": "a"}')
    assert state.parse_committed("\n".join(lines)) == ("a", "b")
    assert state.parse_committed("\n".join([*lines, "[" * 100_000, "9" * 5000, "3", "null"])) == ("a", "b")


def test_gpus_and_a_lost_one() -> None:
    text = (
        "0, NVIDIA B300 SXM6 AC, 275040, 12, 10.3, 580.95.05\n"
        "Unable to determine the device handle for GPU1: 0000:16:00.0: Unknown Error\n"
        "2, NVIDIA B300 SXM6 AC, 275040, [N/A], 10.3, 580.95.05\n"
    )
    found = state.parse_gpus(text)
    assert [(gpu.index, gpu.memory_total, gpu.memory_used) for gpu in found] == [(0, 275040, 12), (2, 275040, 0)]


@pytest.mark.parametrize(
    ("code", "said", "problem"),
    [
        (0, "0, NVIDIA B300 SXM6 AC, 275040, 12, 10.3, 580.95.05\n", None),
        (0, "", None),
        (124, "", "nvidia-smi gave no answer in 15 s"),
        (137, "", "nvidia-smi gave no answer in 15 s"),
        (9, "couldn't communicate with the NVIDIA driver\n", "nvidia-smi: couldn't communicate with the NVIDIA driver"),
        (127, "", "nvidia-smi: exit code 127"),
    ],
)
def test_what_nvidia_smi_says_or_that_it_hangs(code: int, said: str, problem: str | None) -> None:
    found = state.read_gpus(Completed(state.gpus(), code, said, "", 0.0))
    assert found.problem == problem
    assert len(found.rows) == said.count("275040")


def test_the_host_itself_ends_an_nvidia_smi_that_hangs() -> None:
    assert state.gpus().argv[:5] == ("timeout", "-k", "1", "15", "nvidia-smi")
    assert state.gpus().timeout > 16
