"""Parsers of the read-only look, on output as the programs print it."""

from __future__ import annotations

from ddtree_ops.fleet import state


def test_links() -> None:
    found = state.parse_links("current releases/lab-3fa9c1d2e4\nlast-good releases/lab-0000000000\n")
    assert found == {"current": "lab-3fa9c1d2e4", "last-good": "lab-0000000000"}
    assert state.parse_links("") == {}


def test_manifests_newest_first_and_a_damaged_one_loses_only_what_follows() -> None:
    old = '{"id": "lab-a", "created": "2026-11-01T00:00:00Z"}'
    new = '{"id": "lab-b", "created": "2026-11-02T00:00:00Z"}'
    assert [one.id for one in state.parse_manifests(old + "\n" + new + "\n")] == ["lab-b", "lab-a"]
    assert [one.id for one in state.parse_manifests(old + '{"id": ' + new)] == ["lab-a"]
    assert state.parse_manifests("") == ()


def test_gpus_and_a_lost_one() -> None:
    text = (
        "0, NVIDIA B300 SXM6 AC, 275040, 12, 10.3, 580.95.05\n"
        "Unable to determine the device handle for GPU1: 0000:16:00.0: Unknown Error\n"
        "2, NVIDIA B300 SXM6 AC, 275040, [N/A], 10.3, 580.95.05\n"
    )
    found = state.parse_gpus(text)
    assert [(gpu.index, gpu.memory_total, gpu.memory_used) for gpu in found] == [(0, 275040, 12), (2, 275040, 0)]


def test_listeners_with_and_without_process() -> None:
    text = (
        'LISTEN 0 5 127.0.0.1:30000 0.0.0.0:* users:(("python3",pid=774,fd=3))\n'
        "LISTEN 0 128 [::]:30000 [::]:*\n"
    )  # fmt: skip
    assert state.parse_listeners(text) == (
        state.Listener("127.0.0.1:30000", "python3", 774),
        state.Listener("[::]:30000", "?", 0),
    )
