"""A rank's watchdog, and torch's last words about a rank that leaves."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import TYPE_CHECKING

from sglang.simulation.console import log, write
from sglang.simulation.context import RankContext

if TYPE_CHECKING:
    from sglang.srt.managers.scheduler import Scheduler


def start_watchdog(scheduler: Scheduler) -> None:
    """End the server if a batch runs for longer than --watchdog-timeout seconds."""
    threading.Thread(target=_watch, args=(scheduler, os.getppid()), daemon=True).start()


def _watch(scheduler: Scheduler, parent: int) -> None:
    timeout = scheduler.server_args.watchdog_timeout
    last, since = scheduler.forward_ct, time.monotonic()
    while True:
        time.sleep(min(timeout / 2, 5))
        now = time.monotonic()
        if scheduler.forward_ct != last or not scheduler.running:
            last, since = scheduler.forward_ct, now
        elif now - since > timeout:
            log(f"Scheduler watchdog timeout (self.watchdog_timeout={timeout}, self.soft=False)")
            os.kill(parent, signal.SIGQUIT)
            return


def warn_of_open_group(context: RankContext) -> None:
    """What torch says when rank 0 of several leaves with its process group still open."""
    if context.size == 1 or context.rank != 0:
        return
    time.sleep(min(1.5, context.settings.crash_settle_seconds / 3))
    now = time.time()
    stamp = time.strftime("%m%d %H:%M:%S", time.localtime(now)) + f".{int(now % 1 * 1e9):09d}"
    write(
        f"[rank0]:[W{stamp} ProcessGroupNCCL.cpp:1575] Warning: WARNING: destroy_process_group() was not called before "
        "program exit, which can leak resources. For more info, please see "
        "https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())\n"
    )
