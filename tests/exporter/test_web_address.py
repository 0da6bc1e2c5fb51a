"""Addresses to listen on: which there are, and what is told of those that can't be."""

from __future__ import annotations

import resource

import pytest

from ddtree_ops.errors import DdtreeOpsError, UsageError
from ddtree_ops.exporter.web import address
from ddtree_ops.exporter.web.address import Address
from ddtree_ops.exporter.web.door import opened


@pytest.mark.parametrize("wrong", ["", "9736", "localhost", "::1:9736", "127.0.0.1:", "a:99999", "a:-1", "a:²", "[::1]9736"])
def test_what_is_no_address(wrong: str) -> None:
    with pytest.raises(UsageError, match="no address"):
        address.parse(wrong)


def test_addresses() -> None:
    assert address.parse("[::1]:9736") == Address("::1", 9736)
    assert str(address.parse("[::1]:9736")) == "[::1]:9736"
    assert address.parse(":9736") == Address("", 9736)
    assert [Address(host, 1).loopback for host in ("127.3.2.1", "::1", "localhost", "", "::", "10.0.0.1")] == [True] * 3 + [
        False
    ] * 3


def test_a_port_that_is_taken_is_named_with_the_fix() -> None:
    with opened("127.0.0.1:0", None) as door:
        is_named(address.own(door.sockets)[1])


def is_named(port: int) -> None:
    with pytest.raises(DdtreeOpsError, match=f"can't listen on 127.0.0.1:{port}: Address already in use$") as raised:
        address.listen(Address("127.0.0.1", port))
    assert "--listen" in str(raised.value.hint)
    with pytest.raises(DdtreeOpsError, match="can't listen on"):
        address.listen(Address("a" * 70 + ".example", 0))


def test_what_is_told_of_all_addresses() -> None:
    with opened("[::]:0", None) as door:
        assert address.own(door.sockets)[0] == "::"
    with opened("127.0.0.1:0", None) as door:
        assert address.own(door.sockets)[0] == "127.0.0.1"


def test_too_few_descriptors_are_no_matter_of_the_address() -> None:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limit[1]))
    try:
        with pytest.raises(DdtreeOpsError, match="Too many open files") as raised:
            address.listen(Address("127.0.0.1", 0))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    assert "limit of this process for open files" in str(raised.value.hint)
