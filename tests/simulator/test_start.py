"""Arguments, settings, processes and their size."""

from __future__ import annotations

import re
import signal
import socket
from pathlib import Path

import pytest

from tests.simulator.server import draft, running

pytestmark = pytest.mark.processes


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("SIM_FAULT", "crsh:weights", "SIM_FAULT: unknown fault 'crsh'"),
        ("SIM_FAULT", "crash:lunch", "SIM_FAULT: crash needs a phase"),
        ("SIM_FAULT", "kill_rank", "SIM_FAULT: kill_rank needs a rank"),
        ("SIM_LOAD_SECONDS", "soon", "SIM_LOAD_SECONDS: expected a number, got 'soon'"),
        ("SIM_LOAD_SECOND", "1", "SIM_LOAD_SECOND: unknown setting"),
    ],
)
def test_a_bad_setting_is_one_clear_line(models: Path, setting: str, value: str, message: str) -> None:
    """Exit code 2, no traceback."""
    with running(models, ready=False, **{setting: value}) as server:
        assert server.wait_ended() == 2
        assert message in server.text
        assert len(server.text.splitlines()) == 1


def test_the_environment_overrides_the_settings_file(models: Path, tmp_path: Path) -> None:
    """A file with a fault; the same file with the fault switched off by the environment."""
    file = tmp_path / "sim.env"
    file.write_text("# lab\nSIM_FAULT=crash:arguments\n")
    with running(models, ready=False, SGLANG_SIM_FILE=str(file)) as server:
        assert server.wait_ended() == 1
        assert "simulated failure in phase arguments" in server.text
    with running(models, SGLANG_SIM_FILE=str(file), SIM_FAULT=""):
        pass


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--no-such-flag"], 2, "error: unrecognized arguments: --no-such-flag"),
        (["--speculative-algorithm", "NOPE"], 1, "ValueError: Unknown speculative algorithm name: NOPE"),
        (
            ["--speculative-algorithm", "DFLASH"],
            1,
            "ValueError: DFLASH speculative decoding requires setting --speculative-draft-model-path.",
        ),
        (
            ["--speculative-algorithm", "DDTREE", "--speculative-draft-model-path", "d", "--enable-dp-attention"],
            1,
            "ValueError: Currently DDTREE speculative decoding does not support dp attention.",
        ),
        (
            ["--speculative-algorithm", "DFLASH", "--speculative-draft-model-path", "d", "--pp-size", "2"],
            1,
            "ValueError: Currently DFLASH speculative decoding only supports pp_size == 1.",
        ),
        (
            ["--speculative-algorithm", "DDTREE", "--speculative-draft-model-path", "d", "--page-size", "64"],
            1,
            "ValueError: DDTREE speculative decoding only supports page_size == 1, got 64.",
        ),
        (["--model-path", "/nowhere"], 1, "OSError: /nowhere does not appear to have a file named config.json."),
    ],
)
def test_refused_arguments(models: Path, arguments: list[str], code: int, message: str) -> None:
    """Refused before any process is started, in SGLang's words."""
    with running(models, *arguments, ready=False) as server:
        assert server.wait_ended() == code
        assert server.text.splitlines()[-1].startswith(message) or message in server.text.splitlines()[-1]


def test_an_unknown_algorithm_raises_through_the_recorded_functions(models: Path) -> None:
    """The frames of the recorded traceback, in order."""
    with running(models, "--speculative-algorithm", "NOPE", ready=False) as server:
        server.wait_ended()
        frames = re.findall(r'File "(?:[^"]*/)?([^"/]+)", line \d+, in (\S+)', server.text)
    assert frames == [
        ("<frozen runpy>", "_run_module_as_main"),
        ("<frozen runpy>", "_run_code"),
        ("launch_server.py", "<module>"),
        ("server_args.py", "prepare_server_args"),
        ("server_args.py", "from_cli_args"),
        ("<string>", "__init__"),
        ("server_args.py", "__post_init__"),
        ("speculative_hook.py", "handle_speculative_decoding"),
        ("spec_info.py", "from_string"),
    ]


def test_a_taken_port_is_found_at_the_end_of_the_load(models: Path) -> None:
    """As with uvicorn: errno 98, exit code 1."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = str(holder.getsockname()[1])
        with running(models, "--port", port, ready=False) as server:
            assert server.wait_ended() == 1
            assert (
                f"[Errno 98] error while attempting to bind on address ('127.0.0.1', {port}): address already in use"
                in server.text
            )


def test_eight_ranks_are_small_and_carry_their_titles(models: Path) -> None:
    """Main process, ranks and detokenizer share most of their memory: under 150 MB together."""
    with running(models, "--tp-size", "8", *draft(models)) as server:
        server.generate("The capital of France is")
        server.request("/metrics")
        children = server.children()
        assert sorted(children.values()) == ["sglang::detokenizer", *(f"sglang::scheduler_TP{n}" for n in range(8))]
        names = {Path(f"/proc/{pid}/comm").read_text().strip() for pid in children}
        assert names == {"sglang::detoken", "sglang::schedul"}
        rollups = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in (server.process.pid, *children)]
        sizes = [int(found.group(1)) for text in rollups if (found := re.search(r"^Pss:\s+(\d+)", text, re.M))]
    assert len(sizes) == 10
    assert sum(sizes) < 150_000


def test_weights_are_read_once_and_while_loading(models: Path) -> None:
    """The ranks' read counters grow by the size of all files, over the phase and not at once."""
    with running(models, "--tp-size", "2", ready=False, SIM_SECONDS_WEIGHTS="0.6") as server:
        server.wait_for("Load weight end")
        read = sum(
            int(Path(f"/proc/{pid}/io").read_text().split()[1]) for pid, name in server.children().items() if "scheduler" in name
        )
        elapsed = re.search(r"Load weight end\. elapsed=([\d.]+) s", server.text)
        assert elapsed and float(elapsed.group(1)) >= 0.6
    assert 2**20 <= read < 2**20 + 2**18


def test_a_hang_while_loading_is_ended_by_sigterm(models: Path) -> None:
    """Before the ranks are ready nothing is drained."""
    with running(models, ready=False, SIM_FAULT="hang:distributed_init") as server:
        server.wait_for("Init torch distributed begin")
        server.process.send_signal(signal.SIGTERM)
        assert server.wait_ended() == -signal.SIGTERM
