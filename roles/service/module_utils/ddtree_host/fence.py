"""Nothing changes a host but its holder: a controller shows the token of its lock, anyone else takes the lock meanwhile."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from . import durable, lock
from .places import Places


class HostError(Exception):
    """Something that can't be done here; the message says what and why."""


def told(error: Exception, places: Places) -> str:
    """The error in words, with what to do about a full file system; write(2) doesn't say which, and most often it is this one."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the file system of {error.filename or places.state} is full ({error.strerror}). Fix: free some space there"
    return str(error)


@contextmanager
def fenced(places: Places, token: str | None, command: str) -> Iterator[None]:
    """Raises HostError where somebody else holds the host."""
    if token:
        holder = durable.read(places.lock) or {}
        if holder.get("token") != token:
            raise HostError(f"this host's lock was lost: {described(holder)}")
        yield
        return
    with held(places, command, seconds=lock.BUSY_SECONDS):
        yield


@contextmanager
def held(places: Places, command: str, seconds: float | None) -> Iterator[None]:
    """The lock itself, while something here works; `seconds` to wait for it, None: for ever. Raises HostError."""
    descriptor = lock.open_lock(str(places.lock))
    try:
        if not lock.take(descriptor, seconds):
            raise HostError(f"this host is locked: {described(lock.holder_of(descriptor))}")
        who = {"user": "root", "controller": os.uname().nodename, "pid": os.getpid(), "command": command, "token": ""}
        lock.sign(descriptor, who)
        lock.shorten(str(places.audit))
        yield
    finally:
        os.close(descriptor)


def described(holder: dict[str, object]) -> str:
    """`anna@laptop (pid 4711) runs "deploy --host ct200" since 2026-11-30T01:02:03Z`."""
    if not holder:
        return "nobody holds it"
    text = '{user}@{controller} (pid {pid}) runs "{command}" since {since}'.format_map(_Known(holder))
    return "".join(one if one.isprintable() else "?" for one in text[:1000])  # the file may hold anything


class _Known(dict):  # type: ignore[type-arg]
    def __missing__(self, key: str) -> str:
        return "?"
