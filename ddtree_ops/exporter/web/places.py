"""Which connections have a place, and whose place a new one may take.

A client that says nothing must not keep out one that asks: when all places are taken, the oldest connection whose request isn't
whole yet gives its place up, and where there is none the one that has taken longest over its answer.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto

MOST_CONNECTIONS = 48
MOST_OF_A_CLIENT = 32
MOST_ENDING = 64
"""Connections that have lost their places, and whose threads have still to see it."""
SLOW_SECONDS = 2.0
"""An answer that took so long, to be found or to be sent, has had its time when others wait."""


class Stage(Enum):
    """How far a connection has come. Streams are counted by Site, and take no place away from scrapes."""

    HEAD = auto()
    WORK = auto()
    SEND = auto()
    STREAM = auto()
    LOST = auto()


@dataclass(slots=True, eq=False)
class Place:
    """One connection's. `since` is the monotonic time at which its stage began."""

    client: str
    channel: socket.socket
    since: float
    stage: Stage = Stage.HEAD

    def take_away(self) -> None:
        """Wakes the thread that reads or writes; what is there already can still be read, and an answer be sent."""
        how = socket.SHUT_RDWR if self.stage is Stage.SEND else socket.SHUT_RD
        self.stage = Stage.LOST
        with suppress(OSError):
            socket.socket.shutdown(self.channel, how)  # the one of SSLSocket would make it a plain socket under its reader


class Places:
    """May be used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: dict[Place, None] = {}  # the oldest first
        self._ending: set[Place] = set()

    def enter(self, client: str, channel: socket.socket) -> Place | None:
        """A place for a new connection; None if there is none, and nobody has to give one up."""
        with self._lock:
            own = [place for place in self._taken if place.client == client]
            if len(own) >= MOST_OF_A_CLIENT or len(self._taken) >= MOST_CONNECTIONS:
                loser = _loser(own if len(own) >= MOST_OF_A_CLIENT else list(self._taken))
                if loser is None or len(self._ending) >= MOST_ENDING:
                    return None
                del self._taken[loser]
                self._ending.add(loser)
                loser.take_away()
            place = Place(client, channel, time.monotonic())
            self._taken[place] = None
            return place

    def leave(self, place: Place) -> None:
        """Its connection has ended. To be called before the socket is closed: its number may soon be another's."""
        with self._lock:
            self._taken.pop(place, None)
            self._ending.discard(place)

    def goes_on(self, place: Place, stage: Stage) -> bool:
        """Tell what a connection does now; False if it has lost its place."""
        with self._lock:
            if place.stage is Stage.LOST:
                return False
            place.stage, place.since = stage, time.monotonic()
            return True


def _loser(places: list[Place]) -> Place | None:
    slow = time.monotonic() - SLOW_SECONDS
    silent = (place for place in places if place.stage is Stage.HEAD)
    stuck = (place for place in places if place.stage in (Stage.WORK, Stage.SEND) and place.since < slow)
    return next(silent, None) or min(stuck, key=lambda place: place.since, default=None)
