"""Which host may begin when: canary first, then batches, never more at once than allowed, none after too many failures. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ddtree_ops.errors import UsageError

FORKS = 10


@dataclass(frozen=True)
class Batches:
    """How many hosts of a rollout may be under way before the next batch begins: a number, or a share in percent."""

    number: int
    percent: bool = False

    def size(self, hosts: int) -> int:
        """For so many hosts; at least 1. A share is rounded down, as Ansible's `serial` is."""
        return max(1, hosts * self.number // 100) if self.percent else self.number


def parse_batches(text: str) -> Batches:
    """`3` or `25%`. Raises UsageError."""
    match = re.fullmatch(r"([0-9]{1,4})(%?)", text.strip())
    if match is None or int(match[1]) < 1 or (match[2] and int(match[1]) > 100):
        raise UsageError(f"--serial {text}: give a number of hosts (3) or a share of them (25%)")
    return Batches(int(match[1]), bool(match[2]))


@dataclass(frozen=True)
class Policy:
    """`canary`: this host first, None: the first one that has to change; `max_failures`: begin no host after so many."""

    forks: int = FORKS
    batches: Batches | None = None
    canary_first: bool = True
    canary: str | None = None
    max_failures: int = 1


class Schedule:
    """Every host is looked at first; those that have to change then take turns.

    `stopped` says why no more hosts begin, once that is so.
    """

    def __init__(self, hosts: Sequence[str], policy: Policy) -> None:
        self._hosts = tuple(hosts)
        self._policy = policy
        self._unseen = list(hosts)
        self._looking: set[str] = set()
        self._planned: set[str] = set()
        self._waves: list[list[str]] = []
        self._canary: str | None = policy.canary
        self._working: set[str] = set()
        self._failures = 0
        self.stopped: str | None = None

    def looks(self) -> Iterator[str]:
        """The hosts to look at now."""
        while self._unseen and len(self._looking) < self._policy.forks and self.stopped is None:
            host = self._unseen.pop(0)
            self._looking.add(host)
            yield host

    def planned(self, host: str) -> None:
        """It has to change and waits for its turn."""
        self._looking.discard(host)
        self._planned.add(host)

    @property
    def all_seen(self) -> bool:
        """Every host has a plan or has ended."""
        return not (self._unseen or self._looking)

    def approve(self) -> None:
        """The plans are accepted: turns begin."""
        waiting = [host for host in self._hosts if host in self._planned]
        if self._policy.canary_first and len(waiting) > 1:
            first = self._canary or waiting[0]
            if first in waiting:
                self._canary = first
                waiting.remove(first)
                self._waves.append([first])
        size = self._policy.batches.size(len(self._planned)) if self._policy.batches else len(self._hosts)
        self._waves += [waiting[start : start + size] for start in range(0, len(waiting), size)]

    def begins(self) -> Iterator[str]:
        """The hosts whose turn it is now."""
        while self._waves and self.stopped is None:
            if not self._waves[0]:
                if self._working:
                    return
                self._waves.pop(0)
            elif len(self._working) < self._policy.forks:
                host = self._waves[0].pop(0)
                self._planned.discard(host)
                self._working.add(host)
                yield host
            else:
                return

    def ended(self, host: str, *, well: bool) -> None:
        """Its job is over, at whatever point."""
        begun = host in self._working
        self._working.discard(host)
        self._looking.discard(host)
        self._planned.discard(host)
        if well or self.stopped is not None:
            return
        self._failures += begun
        if host == self._canary and self._policy.canary_first:
            self.stop(f"the canary {host} did not end well")
        elif begun and self._failures >= self._policy.max_failures:
            self.stop(f"{self._failures} failed" if self._failures > 1 else f"{host} failed")

    def stop(self, why: str) -> None:
        """No more hosts begin; those at work go on."""
        self.stopped = self.stopped or why

    @property
    def waiting(self) -> tuple[str, ...]:
        """Hosts with a plan that did not begin."""
        return tuple(host for host in self._hosts if host in self._planned)

    @property
    def over(self) -> bool:
        """Nobody is at work, and nobody will be."""
        return not (self._looking or self._working or self._planned) and (not self._unseen or self.stopped is not None)
