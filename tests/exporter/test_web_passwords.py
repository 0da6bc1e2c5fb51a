"""Basic auth with real hashes: who is let in, what it costs, and how many may wait for it."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path

import bcrypt
import pytest

from ddtree_ops.exporter.web import guard as guards
from ddtree_ops.exporter.web import passwords
from ddtree_ops.exporter.web.address import Address
from ddtree_ops.exporter.web.guard import Guard
from ddtree_ops.exporter.web.site import MOST_CHECKS
from tests.exporter.test_web import get, served
from tests.exporter.test_web_guard import PASSWORD, basic, config, users


@pytest.fixture(scope="module")
def hashed() -> str:
    """As cheap as bcrypt can be."""
    return bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()


@pytest.mark.parametrize("kind", ["$2b$", "$2y$"])
def test_passwords(kind: str, hashed: str, tmp_path: Path) -> None:
    guard = Guard(config(tmp_path, users(hashed.replace("$2b$", kind))))
    assert guard.authenticates
    assert guard.allows(basic("prometheus", PASSWORD))
    assert guard.allows(basic("prometheus", PASSWORD))
    for wrong in (
        None,
        "",
        "Basic",
        "Basic ???",
        "Bearer x",
        "Basic " + "A" * 9999,
        basic("prometheus", PASSWORD + "!"),
        basic("prometheus", PASSWORD[:-1]),
        basic("prometheus", PASSWORD + "\0"),
        basic("prometheus", ""),
        basic("nobody", PASSWORD),
        basic("", PASSWORD),
    ):
        assert not guard.allows(wrong)


def test_a_right_password_is_worked_out_once(hashed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(guards, "checker", lambda _hash: lambda password: calls.append(password) or password == PASSWORD)  # type: ignore[func-returns-value]
    guard = Guard(config(tmp_path, users(hashed)))
    for _ in range(3):
        assert guard.allows(basic("prometheus", PASSWORD))
        assert not guard.allows(basic("nobody", PASSWORD))
    assert len(calls) == 4  # a name that isn't there costs as much as one that is, each time


def test_our_own_hashes_are_right_and_salted() -> None:
    one, two = passwords.make_hash(PASSWORD), passwords.make_hash(PASSWORD)
    assert one != two
    assert passwords.checker(one)(PASSWORD)
    assert not passwords.checker(one)(PASSWORD + "x")


def test_few_passwords_wait_and_the_rest_is_sent_away(tmp_path: Path, hashed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, working, most = threading.Event(), [0], [0]

    def slow(password: str) -> bool:
        if password == PASSWORD:
            return True
        working[0] += 1
        most[0] = max(most[0], working[0])
        go_on.wait(5)
        working[0] -= 1
        return False

    monkeypatch.setattr(guards, "checker", lambda _hash: slow)
    wrong, right = (f"Authorization: {basic('prometheus', password)}\r\n" for password in ("wrong", PASSWORD))
    for port in served(Address("127.0.0.1", 0), config(tmp_path, users(hashed))):
        assert get(port, "/", right)[0] == 200
        with ThreadPoolExecutor(MOST_CHECKS + 1) as pool:
            asking = [pool.submit(get, port, "/", wrong) for _ in range(MOST_CHECKS + 1)]
            first, waiting = wait(asking, 4, FIRST_COMPLETED)
            let_in, sent_away = get(port, "/", right)[0], get(port, "/")[0]
            go_on.set()
            assert (let_in, sent_away) == (200, 401)  # neither has to be worked out
            assert [one.result()[0] for one in first] == [503]
            assert [one.result()[0] for one in waiting] == [401] * MOST_CHECKS
    assert most[0] == 1
