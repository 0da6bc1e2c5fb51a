"""A connection that died unnoticed is replaced when a channel is opened, once, and only then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from ddtree_ops.adapters.ssh import SshShell


class Transport:
    def __init__(self, *, dead: bool) -> None:
        self.dead = dead

    def is_active(self) -> bool:
        return not self.dead

    def open_session(self) -> str:
        if self.dead:
            raise EOFError
        return "a channel"


class Shell(SshShell):
    """Hands out these connections, one a call."""

    def __init__(self, *transports: Transport) -> None:
        super().__init__(cast(Any, None))
        self.given: Iterator[Transport] = iter(transports)

    def transport(self) -> Transport:
        return next(self.given)


def test_a_dead_connection_is_replaced() -> None:
    assert Shell(Transport(dead=True), Transport(dead=False)).channel(lambda one: one.open_session()) == "a channel"


def test_two_dead_ones_are_a_lost_host() -> None:
    with pytest.raises(EOFError):
        Shell(Transport(dead=True), Transport(dead=True), Transport(dead=False)).channel(lambda one: one.open_session())


def test_what_a_live_one_refuses_is_not_asked_twice() -> None:
    def refuse(_: Transport) -> None:
        raise OSError("administratively prohibited")

    with pytest.raises(OSError, match="prohibited"):
        Shell(Transport(dead=False), Transport(dead=False)).channel(refuse)
