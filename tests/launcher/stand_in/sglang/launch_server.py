"""Tells the story named by $STORY in SGLang's own words, with one process per rank."""

import ctypes
import logging
import multiprocessing
import multiprocessing.synchronize
import os
import signal
import sys
import time

from sglang.srt.server_args import prepare_server_args
from sglang.web import serve

STORY = os.environ.get("STORY", "ready")
LOAD = (
    "Init torch distributed begin.",
    "Init torch distributed ends. elapsed=0.20 s, mem usage=0.09 GB",
    "Load weight begin. avail mem=139.13 GB",
    "Load weight end. elapsed=0.09 s, type=Qwen3ForCausalLM, avail mem=139.07 GB, mem usage=0.05 GB.",
    "Memory pool end. avail mem=118.23 GB",
    "Capture cuda graph begin. This can take up to several minutes. avail mem=118.13 GB",
    "Capture cuda graph end. Time elapsed: 1.09 s. mem usage=0.04 GB. avail mem=118.10 GB.",
)
TRACEBACK = (
    "Scheduler hit an exception: Traceback (most recent call last):",
    '  File "/opt/sglang/srt/managers/scheduler.py", line 4062, in run_scheduler_process',
    "    scheduler.run_event_loop()",
    "RuntimeError: The size of tensor a (8) must match the size of tensor b (33) at non-singleton dimension 0",
    "",
)


def write(text: str) -> None:
    """Lines on stdout, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def say(text: str, rank: int | None = None) -> None:
    """One log record, with SGLang's header."""
    prefix = "" if rank is None else f" TP{rank}"
    write(f"[2026-11-29 18:38:25{prefix}] {text}")


def rank_process(rank: int, loaded: multiprocessing.synchronize.Barrier, crash: multiprocessing.synchronize.Event) -> None:
    """Load, then wait for the order to crash."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG, as SGLang's ranks do it
    pause = float(os.environ.get("PAUSE", "0.05"))
    for line in LOAD:
        say(line, rank)
        if STORY == "stall" and "Load weight begin" in line:
            time.sleep(3600)
        if STORY == "slow" and "Load weight begin" in line:
            while True:
                sum(range(10000))
        time.sleep(pause)
    loaded.wait()
    crash.wait()
    say(TRACEBACK[0], rank)
    write("\n".join(TRACEBACK[1:]))


def main() -> None:
    """One start, from the arguments to whatever end."""
    args = prepare_server_args(sys.argv[1:])
    logging.basicConfig(format="[2026-11-29 18:38:25] %(message)s", level=logging.INFO, force=True)
    logging.info("server_args=ServerArgs(api_key=%r, port=%d)", args.api_key, args.port)
    context = multiprocessing.get_context("spawn")
    loaded, crash = context.Barrier(3), context.Event()
    ranks = [context.Process(target=rank_process, args=(rank, loaded, crash), daemon=True) for rank in (0, 1)]
    for process in ranks:
        process.start()
    loaded.wait()
    say(f"INFO:     Uvicorn running on http://127.0.0.1:{args.port} (Press CTRL+C to quit)")
    if STORY == "crash":
        crash.set()
        time.sleep(0.2)
        say("SIGQUIT received. signum=None, frame=None. It usually means one child failed.")
        time.sleep(65)
    elif STORY == "vanish":
        os.kill(os.getpid(), signal.SIGKILL)
    signal.signal(signal.SIGTERM, signal.SIG_IGN if STORY == "stubborn" else leave)
    say("The server is fired up and ready to roll!")
    serve(args.port, args.api_key, aborts=2 if STORY == "abort" else 0, text="!" * 8 if STORY == "garbage" else " Paris.")


def leave(*_: object) -> None:
    """As SGLang does: drained, then the main process kills itself."""
    say("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
