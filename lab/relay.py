#!/usr/bin/env python3
"""Relay Ethernet frames between two tap devices, late and with loss: a delay line for kernels without netem.

Usage: relay.py TAP_A TAP_B ROUND_TRIP_MS LOSS_PERCENT

Creates both taps, holds each frame for half of ROUND_TRIP_MS, and ends when a tap is deleted. About 25 MB/s.
"""

from __future__ import annotations

import contextlib
import fcntl
import heapq
import os
import random
import select
import struct
import sys
import time
from typing import Final

TUNSETIFF: Final = 0x400454CA  # linux/if_tun.h
IFF_TAP_NO_PI: Final = 0x1002  # IFF_TAP | IFF_NO_PI
FRAMES_PER_TURN: Final = 256


def open_tap(name: str) -> int:
    """Create a tap device; return its non-blocking file descriptor."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP_NO_PI))
    return fd


def take_frames(fd: int) -> list[bytes]:
    """Read what waits on a tap; raises OSError once the tap is gone."""
    frames: list[bytes] = []
    while len(frames) < FRAMES_PER_TURN:
        try:
            frames.append(os.read(fd, 65536))
        except BlockingIOError:
            break
    return frames


def relay(a: int, b: int, delay: float, loss: float) -> None:
    """Pass frames on both ways until a tap goes; `delay` in seconds one way, `loss` as a fraction."""
    other = {a: b, b: a}
    queue: list[tuple[float, int, int, bytes]] = []
    number = 0  # keeps frames of one instant in order
    while True:
        wait = max(0.0, queue[0][0] - time.monotonic()) if queue else None
        ready, _, _ = select.select([a, b], [], [], wait)
        now = time.monotonic()
        for fd in ready:
            for frame in take_frames(fd):
                if random.random() >= loss:
                    number += 1
                    heapq.heappush(queue, (now + delay, number, other[fd], frame))
        while queue and queue[0][0] <= time.monotonic():
            _, _, fd, frame = heapq.heappop(queue)
            with contextlib.suppress(OSError):  # a full queue (EAGAIN) or a link that is down (EIO) loses the frame
                os.write(fd, frame)


def main(arguments: list[str]) -> int:
    if len(arguments) != 4:
        print("usage: relay.py TAP_A TAP_B ROUND_TRIP_MS LOSS_PERCENT", file=sys.stderr)
        return 2
    a, b = open_tap(arguments[0]), open_tap(arguments[1])
    try:
        relay(a, b, float(arguments[2]) / 2000, float(arguments[3]) / 100)
    except OSError:
        return 0  # a tap was deleted: the lab is done with us
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
