"""Starts the ranks and the detokenizer, waits until they are ready, and ends them all."""

from __future__ import annotations

import os
import signal
import socket
import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from sglang.simulation import wire
from sglang.simulation.console import log
from sglang.simulation.context import RankContext
from sglang.simulation.gpu import GpuMemory
from sglang.simulation.group import ProcessGroup, connect, keep_only
from sglang.simulation.process import fork
from sglang.simulation.settings import Settings
from sglang.srt.managers.detokenizer_manager import run_detokenizer_process
from sglang.srt.managers.scheduler import run_scheduler_process

if TYPE_CHECKING:
    from sglang.srt.server_args import ServerArgs


@dataclass
class Engine:
    """The processes below the main one, and the main process's connections to them."""

    scheduler_pids: list[int]
    detokenizer_pid: int
    requests: socket.socket
    texts: socket.socket
    scheduler_infos: list[dict[str, Any]]

    def live_schedulers(self) -> list[int]:
        """Ranks that still run."""
        return [pid for pid in self.scheduler_pids if exit_code(pid) is None]


_exit_codes: dict[int, int] = {}


def exit_code(pid: int) -> int | None:
    """How a child ended: its code, or minus the signal that killed it; None while it runs."""
    if pid not in _exit_codes:
        try:
            done, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return _exit_codes.setdefault(pid, 0)
        if not done:
            return None
        _exit_codes[pid] = os.waitstatus_to_exitcode(status)
    return _exit_codes[pid]


def launch_subprocesses(server_args: ServerArgs, settings: Settings) -> Engine:
    """Fork everything and wait until every rank is ready. Raises EOFError if a rank vanishes without a word."""
    size = server_args.tp_size
    ends = connect(size)
    requests, rank_requests = socket.socketpair()
    rank_outputs, tokens = socket.socketpair()
    detokenizer_texts, texts = socket.socketpair()
    readers: list[socket.socket] = []
    pids: list[int] = []
    _install_launch_handler(pids)
    for rank in range(size):
        reader, writer = socket.socketpair()
        context = RankContext(
            rank=rank,
            size=size,
            settings=settings,
            gpu=GpuMemory(rank, settings.gpu_memory_gb),
            group=ProcessGroup(rank, size, ends[rank]),
            has_draft=server_args.speculative_algorithm is not None,
        )
        closing = [*readers, reader, requests, tokens, detokenizer_texts, texts]
        pids.append(fork(partial(_run_rank, server_args, context, ends, closing, rank_requests, rank_outputs, writer)))
        writer.close()
        readers.append(reader)
    keep = [*readers, requests, rank_requests, rank_outputs, texts]
    detokenizer = fork(partial(_run_detokenizer, ends, keep, tokens, detokenizer_texts))
    pids.append(detokenizer)
    keep_only(ends, None)
    for connection in (rank_requests, rank_outputs, tokens, detokenizer_texts):
        connection.close()
    infos = [_wait_ready(rank, pids[rank], reader) for rank, reader in enumerate(readers)]
    return Engine(pids[:size], detokenizer, requests, texts, infos)


def _run_rank(
    server_args: ServerArgs,
    context: RankContext,
    ends: list[dict[int, socket.socket]],
    closing: list[socket.socket],
    requests: socket.socket,
    outputs: socket.socket,
    ready: socket.socket,
) -> None:
    keep_only(ends, context.rank)
    for connection in closing:
        connection.close()
    run_scheduler_process(server_args, context, requests, outputs, ready)


def _run_detokenizer(
    ends: list[dict[int, socket.socket]], closing: list[socket.socket], tokens: socket.socket, texts: socket.socket
) -> None:
    keep_only(ends, None)
    for connection in closing:
        connection.close()
    run_detokenizer_process(tokens, texts)


def _wait_ready(rank: int, pid: int, reader: socket.socket) -> dict[str, Any]:
    try:
        info: dict[str, Any] = wire.receive(reader)
    except wire.PeerGone:
        log(f"Rank {rank} scheduler is dead. Please check if there are relevant logs.")
        while (code := exit_code(pid)) is None:
            signal.sigtimedwait([signal.SIGCHLD], 0.1)
        log(f"Exit code: {code}")
        raise EOFError from None
    return info


def _install_launch_handler(pids: list[int]) -> None:
    def handler(_signum: int, _frame: object) -> None:
        log("Received sigquit from a child process. It usually means the child failed.")
        kill_process_tree(pids)

    signal.signal(signal.SIGQUIT, handler)


def kill_process_tree(pids: list[int], *, include_parent: bool = True) -> None:
    """SIGKILL to all children and, as SGLang does, to this process itself."""
    own = os.getpid()
    if include_parent:
        log(f"kill_process_tree called: parent_pid={own}, include_parent=True, pid={own}")
    for pid in pids:
        if exit_code(pid) is None:
            os.kill(pid, signal.SIGKILL)
    if include_parent:
        sys.stdout.flush()
        os.kill(own, signal.SIGKILL)
