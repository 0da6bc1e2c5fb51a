"""Faults that are there before the deploy begins: it says the reason and stops, what serves is left alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from ddtree_ops import assets
from tests.faults.arena import Arena
from tests.faults.one_case import Record
from tests.faults.verdicts import Row, check_again, check_left_alone, check_message

OTHER_PORT = "30007"
SQUATTER = "faults-squatter"


def refused(
    arena: Arena, record: Record, row: Row, codes: frozenset[int], words: str, *, mend: Callable[[], object] | None = None
) -> None:
    """One deploy that has to stop; `mend` takes the fault away before the second run."""
    try:
        before = arena.look()
        ended = arena.deploy()
        row.ended(ended)
        found = arena.look()
        check_left_alone(before, found, row)
        check_message(ended, codes, words)
        if mend:
            mend()
        check_again(arena, arena.release(), row)
    finally:
        row.keep(record)


@contextmanager
def squatting(arena: Arena) -> Iterator[str]:
    """Somebody else's process listens on the port that the spec asks for."""
    server = f"import socket,time; s=socket.create_server(('127.0.0.1',{OTHER_PORT})); time.sleep(600)"
    arena.lab.sh(arena.host, "systemd-run", "--quiet", f"--unit={SQUATTER}", "python3", "-c", server)
    try:
        yield OTHER_PORT
    finally:
        arena.lab.sh(arena.host, "sh", "-c", f"systemctl stop {SQUATTER} || true")


def test_port_in_use(ct200: Arena, record_property: Record) -> None:
    row = Row("", "port in use")
    with squatting(ct200):
        ct200.spec(port=int(OTHER_PORT))
        refused(ct200, record_property, row, frozenset({7}), rf"port {OTHER_PORT} is taken by pid \d+", mend=ct200.spec)


@pytest.mark.whole
def test_wheel_with_a_wrong_hash(ct200: Arena, record_property: Record) -> None:
    """The lock's own hash of a package is changed in one digit: no file of the index fits it."""
    lock = assets.lock("lab").read_text()
    damaged = ct200.folder / "damaged.txt"
    damaged.write_text("".join(f"{flip(line)}\n" for line in lock.splitlines()))
    assert damaged.read_text() != lock
    ct200.spec(runtime=ct200.runtime | {"lock": str(damaged)})
    refused(ct200, record_property, Row("", "wheel with a wrong hash"), frozenset({1}), r"[Hh]ash", mend=ct200.spec)


def flip(line: str) -> str:
    """A line of a lock with another first digit of its hash."""
    before, mark, digits = line.partition("--hash=sha256:")
    return before + mark + ("1" if digits[:1] == "0" else "0") + digits[1:] if mark else line


@pytest.mark.whole
def test_index_unreachable(ct200: Arena, record_property: Record) -> None:
    """The host's pip is set to an index where nobody listens, and its package cache is empty."""
    host = ct200.host
    pip = "/etc/pip.conf"
    ct200.lab.sh(host, "sh", "-c", f"cp {pip} {pip}.was; mv /opt/ddtree/uv-cache /var/tmp/uv-cache.was")

    def mend() -> None:
        put_back = f"mv -f {pip}.was {pip}; rm -rf /opt/ddtree/uv-cache; mv /var/tmp/uv-cache.was /opt/ddtree/uv-cache"
        ct200.lab.sh(host, "sh", "-c", f"if [ -e {pip}.was ]; then {put_back}; fi")

    try:
        ct200.lab.sh(host, "tee", pip, stdin="[global]\nindex-url = http://127.0.0.1:9/simple\nretries = 0\n")
        ct200.spec()
        words = r"127\.0\.0\.1:9|index|[Cc]onnect"
        refused(ct200, record_property, Row("", "index unreachable"), frozenset({1}), words, mend=mend)
    finally:
        mend()


@pytest.mark.whole
@pytest.mark.parametrize(("name", "script"), [("missing", None), ("too old", "#!/bin/sh\necho 3 9\n")])
def test_wrong_python(ct200: Arena, record_property: Record, name: str, script: str | None) -> None:
    python = "/usr/local/bin/python-of-a-fault-test"
    if script:
        ct200.lab.sh(ct200.host, "sh", "-c", f"cat >{python}; chmod 755 {python}", stdin=script)
    try:
        ct200.spec(runtime=ct200.runtime | {"python": python})
        row = Row("", f"wrong Python ({name})")
        refused(ct200, record_property, row, frozenset({7}), python if script is None else "3.9", mend=ct200.spec)
    finally:
        ct200.lab.sh(ct200.host, "rm", "-f", python)
