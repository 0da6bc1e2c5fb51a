"""Groups and ranges of any shape take time and memory by their size only."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from ddtree_ops.errors import InvalidInventory
from ddtree_ops.fleet.inventory import Fleet, load_fleet
from ddtree_ops.fleet.ranges import read_pattern
from tests.hang import ends


def fleet_of(directory: Path, text: str) -> Fleet:
    path = directory / "hosts.yml"
    path.write_text(text)
    return load_fleet(path)


def test_a_long_chain_of_groups(tmp_path: Path) -> None:
    lines = [f"g{at}: {{children: {{g{at + 1}: }}}}" for at in range(3000)]
    fleet = fleet_of(tmp_path, "\n".join([*lines, "g3000: {hosts: {a: }}"]))
    assert fleet.host("a").groups == tuple(f"g{at}" for at in range(3001))


def test_a_long_loop_of_groups(tmp_path: Path) -> None:
    lines = [f"g{at}: {{children: {{g{(at + 1) % 3000}: }}}}" for at in range(3000)]
    with pytest.raises(InvalidInventory, match=r"hosts\.yml:3000: g2999\.children\.g0: group 'g0' contains itself"):
        fleet_of(tmp_path, "\n".join(lines))


def test_diamonds_of_groups(tmp_path: Path) -> None:
    levels = 200
    lines = [f"{side}{at}: {{children: {{a{at + 1}: , b{at + 1}: }}}}" for at in range(levels) for side in "ab"]
    with ends():
        fleet = fleet_of(tmp_path, "\n".join([*lines, f"a{levels}: {{hosts: {{h: }}}}"]))
    assert fleet.host("h").groups[-3:] == (f"a{levels - 1}", f"b{levels - 1}", f"a{levels}")


def test_the_limit_of_hosts_is_the_whole_inventorys(tmp_path: Path) -> None:
    hosts = ", ".join(f'"n{at}x[1:9999]": ' for at in range(20))
    tracemalloc.start()
    try:
        with pytest.raises(InvalidInventory, match=r"hosts\.yml:1: all\.hosts: the inventory has more than 10000 hosts") as error:
            fleet_of(tmp_path, f"all: {{hosts: {{{hosts}}}}}\n")
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert error.value.evidence == (), "told once"
    assert most < 32 * 2**20


def test_hosts_may_stand_in_several_groups_but_not_in_any_number(tmp_path: Path) -> None:
    def text(groups: int) -> str:
        return "".join(f'g{at}: {{hosts: {{"n[1:9999]": }}}}\n' for at in range(groups))

    assert len(fleet_of(tmp_path, text(3)).hosts) == 9999
    with pytest.raises(InvalidInventory, match=r"hosts\.yml:11: g10\.hosts: hosts stand in more than 100000 places"):
        fleet_of(tmp_path, text(300))


@pytest.mark.parametrize("pattern", ["n" + "[1:1]" * 5000, "n[1:" + "9" * 5000 + "]", "n:" + "9" * 5000, "n[1:9999][1:9999]"])
def test_patterns_without_end(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"too l|more than"):
        read_pattern(pattern)


def test_a_group_without_hosts_is_no_target(tmp_path: Path) -> None:
    fleet = fleet_of(tmp_path, "a: {hosts: {x: }}\nempty: {children: {below: }}\n")
    with pytest.raises(InvalidInventory, match=r"hosts\.yml:2: empty: the group has no hosts"):
        fleet.group("empty")


def test_a_group_beside_all_is_as_deep_as_one_below_it(tmp_path: Path) -> None:
    fleet = fleet_of(tmp_path, "all: {children: {z: {hosts: {h: }}, a: {hosts: {h: }}}}\nm: {hosts: {h: }}\n")
    assert fleet.host("h").groups == ("a", "m", "z")
