"""How it dies: the recorded tracebacks, signals and waits."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from tests.simulator.conftest import write_models
from tests.simulator.server import draft, running, wait_until

pytestmark = pytest.mark.processes

LOADING = "Received sigquit from a child process. It usually means the child failed."
SERVING = "SIGQUIT received. signum=None, frame=None. It usually means one child failed."
# Functions and file tails of the recorded shape crash, without torch's own frame.
STORY = [
    ("managers/scheduler.py", "run_scheduler_process"),
    ("managers/scheduler.py", "run_event_loop"),
    ("managers/scheduler.py", "dispatch_event_loop"),
    ("managers/scheduler.py", "event_loop_normal"),
    ("managers/scheduler.py", "run_batch"),
    ("speculative/dflash_worker.py", "forward_batch_generation"),
    ("managers/tp_worker.py", "forward_batch_generation"),
    ("model_executor/model_runner.py", "forward"),
    ("model_executor/model_runner.py", "_forward_raw"),
    ("model_executor/cuda_graph_runner.py", "replay"),
    ("model_executor/cuda_graph_runner.py", "replay_prepare"),
    ("model_executor/cuda_graph_buffer_registry.py", "fill_from"),
    ("model_executor/cuda_graph_buffer_registry.py", "_grouped_foreach_copy_"),
    ("model_executor/cuda_graph_buffer_registry.py", "_foreach_copy"),
]
FRAME = re.compile(r'^  File "[^"]*?sglang/srt/([^"]+)", line \d+, in (\S+)$', re.M)
SHAPE = "RuntimeError: The size of tensor a (8) must match the size of tensor b (33) at non-singleton dimension 0\n"


def record(text: str, rank: str) -> str:
    """The record of that rank's exception."""
    start = text.index(f" {rank}] Scheduler hit an exception: Traceback (most recent call last):")
    return re.split(r"\n(?=\[\d{4}-|\[rank\d)", text[start:])[0]


def test_the_story_dies_at_the_first_request(models: Path) -> None:
    """Both ranks raise with the recorded frames; the main process kills the tree and itself."""
    budget = ("--speculative-ddtree-budget", "32", "--tp-size", "2")
    with running(models, *draft(models, "DDTREE", *budget), SIM_FAULT="graph_width:request") as server:
        assert server.request("/health")[0] == 200
        with pytest.raises(OSError):
            server.generate("The capital of France is")
        assert server.wait_ended() == -signal.SIGKILL
        text = server.text
    for rank in ("TP0", "TP1"):
        assert FRAME.findall(record(text, rank)) == STORY
        assert SHAPE in record(text, rank)
    assert text.index(SERVING) < text.index("No live scheduler processes found; skipping py-spy and CUDA coredump.")
    assert "[rank0]:[W" in text
    assert "kill_process_tree called: parent_pid=" in text.splitlines()[-1]


def test_the_same_crash_in_the_servers_own_warm_up(models: Path) -> None:
    """Without :request the warm-up decodes and dies; ready is never reached."""
    arguments = draft(models, "DDTREE", "--speculative-ddtree-budget", "32")
    with running(models, *arguments, ready=False, SIM_FAULT="graph_width") as server:
        assert server.wait_ended() == -signal.SIGKILL
        assert SHAPE in server.text
        assert "fired up" not in server.text


def test_a_right_capture_serves_the_same_configuration(models: Path) -> None:
    """The crash is a comparison of widths: without the fault, and with a block drafter, nothing differs."""
    with running(models, *draft(models, "DDTREE", "--speculative-ddtree-budget", "32")) as server:
        assert server.generate("The capital of France is")["text"].startswith(" Paris")
    with running(models, *draft(models, "DFLASH"), SIM_FAULT="graph_width:warmup") as server:
        assert server.generate("The capital of France is")["text"].startswith(" Paris")


def test_one_rank_raises_alone(models: Path) -> None:
    """A chained exception of rank 1; rank 0 hangs in its collective and is diagnosed."""
    arguments = (*draft(models), "--tp-size", "2")
    with running(models, *arguments, ready=False, SIM_FAULT="raise_rank:1", SIM_COREDUMP_SECONDS="0.1") as server:
        assert server.wait_ended() == -signal.SIGKILL
        text = server.text
    assert "TP0] Scheduler hit" not in text
    chain = record(text, "TP1")
    first, second = chain.split("\nThe above exception was the direct cause of the following exception:\n")
    assert first.rstrip().endswith("KeyError: 'missing-draft-state'")
    assert second.rstrip().endswith("RuntimeError: draft state lost between steps")
    for line in ("py-spy: not found", "CUDA coredump pipe not found for PID", "Waiting 0.1 seconds for CUDA coredumps"):
        assert line in text


def test_a_rank_killed_while_idle_shows_as_its_peers_error(models: Path) -> None:
    """Only the other rank says something: its connection was reset."""
    with running(models, "--tp-size", "2") as server:
        victim = next(pid for pid, name in server.children().items() if name == "sglang::scheduler_TP1")
        signal.pidfd_send_signal(_pidfd(victim), signal.SIGKILL)
        assert server.wait_ended() == -signal.SIGKILL
        assert re.search(
            r"RuntimeError: \[.*gloo/transport/tcp/pair.cc:\d+\] Read error .*: Connection reset by peer", server.text
        )
        assert SERVING in server.text


def test_the_only_rank_killed_while_serving(models: Path) -> None:
    """No peer is left to complain: the main process's watch over its children does."""
    with running(models) as server:
        victim = next(pid for pid, name in server.children().items() if name == "sglang::scheduler")
        signal.pidfd_send_signal(_pidfd(victim), signal.SIGKILL)
        assert server.wait_ended() == -signal.SIGKILL
        assert f"Subprocess scheduler_0 (pid={victim}) crashed with exit code -9. Triggering SIGQUIT" in server.text


def _pidfd(pid: int) -> int:
    import os

    return os.pidfd_open(pid)


def test_nothing_outlives_a_killed_main_process(models: Path) -> None:
    """PR_SET_PDEATHSIG: ranks and detokenizer go with it."""
    with running(models, "--tp-size", "2") as server:
        children = list(server.children())
        assert len(children) == 3
        server.process.kill()
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children))


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("crash:kv_cache", "RuntimeError: simulated failure in phase kv_cache"),
        ("oom:weights", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.25 GiB. GPU 0 has a total"),
        ("oom:graph_capture", "Exception: Capture cuda graph failed: CUDA out of memory."),
    ],
)
def test_failures_while_loading(models: Path, fault: str, expected: str) -> None:
    """One record, then the whole tree is killed at once."""
    with running(models, ready=False, SIM_FAULT=fault) as server:
        assert server.wait_ended() == -signal.SIGKILL
        assert server.text.index(expected) < server.text.index(LOADING)


def test_a_draft_that_does_not_fit_its_config(tmp_path: Path) -> None:
    """A real comparison of fc.weight; its header stands in the middle of the progress bar's line."""
    models = write_models(tmp_path, fc_width=1536)
    with running(models, *draft(models), ready=False) as server:
        assert server.wait_ended() == -signal.SIGKILL
        text = server.text
    assert re.search(r"\rMulti-thread loading shards: [^\n]*\?it/s\]\[[^\n]*Scheduler hit an exception: Traceback", text)
    assert "Expected fc.weight.shape=(512, 1024) (num_context_features=2, hidden_size=512), but got (512, 1536)" in text
    assert FRAME.findall(text)[-1] == ("models/dflash.py", "load_weights")


def test_too_little_memory_for_the_cache(models: Path) -> None:
    """A real size that comes out at nothing, raised where SGLang raises it."""
    with running(models, "--mem-fraction-static", "0.0001", ready=False) as server:
        assert server.wait_ended() == -signal.SIGKILL
        assert "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n" in server.text
        assert [name for _, name in FRAME.findall(server.text)][-3:] == [
            "_resolve_memory_pool_config",
            "calculate_pool_sizes",
            "__post_init__",
        ]
