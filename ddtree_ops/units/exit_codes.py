"""What the launcher's exit status says to systemd, and to whoever reads it there.

This file has no dependencies: it is shipped in the wheel `sglang-ddtree` as well.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Numbers above 64 are those of sysexits.h; the unit restarts after every one but 0 and 78."""

    STOPPED = 0
    """Stopped on request (SIGTERM), requests in flight answered or cut off after the drain time."""
    CRASHED = 70
    """EX_SOFTWARE: the server, or one of its ranks, died."""
    STALLED = 75
    """EX_TEMPFAIL: nothing moved for `stall_after_s`, or the load took longer than `load_budget_s`."""
    REFUSED = 78
    """EX_CONFIG: this configuration can't start, and a restart can't change that (RestartPreventExitStatus=78)."""
