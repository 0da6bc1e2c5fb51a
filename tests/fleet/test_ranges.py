from __future__ import annotations

import pytest

from ddtree_ops.fleet.ranges import read_pattern


@pytest.mark.parametrize(
    ("pattern", "names", "port"),
    [
        ("ct200", ("ct200",), None),
        ("web[01:03]", ("web01", "web02", "web03"), None),
        ("web[8:10]", ("web8", "web9", "web10"), None),
        ("web[:2]", ("web0", "web1", "web2"), None),
        ("n[1:9:4]", ("n1", "n5", "n9"), None),
        ("gpu-[a:c]", ("gpu-a", "gpu-b", "gpu-c"), None),
        ("r[1:2]n[01:02].x", ("r1n01.x", "r1n02.x", "r2n01.x", "r2n02.x"), None),
        ("host:2222", ("host",), 2222),
        ("web[1:2]:2222", ("web1", "web2"), 2222),
        ("[fe80::1]:22", ("fe80::1",), 22),
        ("fe80::1", ("fe80::1",), None),
    ],
)
def test_expand(pattern: str, names: tuple[str, ...], port: int | None) -> None:
    read = read_pattern(pattern)
    assert (read.names(), read.port) == (names, port)


@pytest.mark.parametrize("pattern", ["web[1:99999999]", "w[1:100][1:100][1:100]", "w[1:3:0]", "w[é:z]", "w[]"])
def test_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="host range"):
        read_pattern(pattern)
