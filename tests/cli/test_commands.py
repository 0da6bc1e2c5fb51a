"""The command line as a process: help, errors as one line, exit codes, clean stdout for JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ddtree_ops.cli import COMMANDS

pytestmark = pytest.mark.processes

PROJECT = Path(__file__).resolve().parents[2]
NAMES = [name for name, _ in COMMANDS]


def run(*args: str, stdin: str = "", cwd: Path = PROJECT, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from ddtree_ops.cli import main; main()", *args],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(PROJECT), **env},
    )


def test_every_command_has_a_file_a_summary_and_examples() -> None:
    files = {path.stem for path in (PROJECT / "ddtree_ops" / "cli").glob("*.py")}
    assert set(NAMES) <= files
    for name in NAMES:
        module = __import__(f"ddtree_ops.cli.{name}", fromlist=["command"])
        assert module.command.help.splitlines()[0] == dict(COMMANDS)[name]
        assert "Example" in module.EPILOG
        assert f"ddtree-ops {name}" in module.EPILOG


def test_help_lists_all_commands_and_exit_codes() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert all(f"  {name} " in done.stdout for name in NAMES)
    assert "8 deploy failed" in done.stdout


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from ddtree_ops.cli import main\ntry: main()\nfinally: print(sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=True, cwd=PROJECT, timeout=30
    )
    for heavy in ("pydantic", "yaml", "rich", "paramiko", "fabric", "ansible_runner", "jinja2"):
        assert f"'{heavy}'" not in done.stderr


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("deplyo",), 2, "did you mean deploy?"),
        (("deploy",), 2, "give --host HOST"),
        (("deploy", "--host", "ct20"), 2, "ct200"),
        (("deploy", "--host", "ct200", "--group", "all"), 2, "give --host HOST"),
        (("plan", "--group", "nobody"), 2, "nobody"),
        (("status", "--host", "ct200", "-i", "/nowhere"), 2, "no inventory at /nowhere"),
        (("init", "--host", "x", "--hardware", "abacus", "-o", "{tmp}"), 2, "rtx-pro-6000-8x"),
        (("triage",), 2, "give one source"),
        (("triage", "--list", "-"), 2, "--host HOST"),
        (("deploy", "--host", "ct200", "--no-such-option"), 2, "--no-such-option"),
    ],
)
def test_a_mistake_is_one_clear_line(args: tuple[str, ...], code: int, said: str, tmp_path: Path) -> None:
    words = [word.replace("{tmp}", str(tmp_path)) for word in args]
    done = run(*words, DDTREE_OPS_INVENTORY="inventories/lab")
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_an_error_is_a_document_when_json_was_asked_for() -> None:
    done = run("deploy", "--host", "nobody", "--format", "json", DDTREE_OPS_INVENTORY="inventories/lab")
    document = json.loads(done.stdout)
    assert document["exit_code"] == done.returncode == 2
    assert document["schema"] == "ddtree-ops/error/v1"


@pytest.mark.parametrize("args", [("deploy",), ("deploy", "--nope"), ("nope",)])
def test_usage_errors_are_documents_too(args: tuple[str, ...]) -> None:
    done = run(*args, "--format", "json", DDTREE_OPS_INVENTORY="inventories/lab")
    assert json.loads(done.stdout)["exit_code"] == done.returncode == 2


@pytest.mark.parametrize("where", ["/proc/nothing", "/etc/passwd", "/etc/passwd/x"])
def test_init_where_nothing_can_be_written(where: str) -> None:
    done = run("init", "--host", "x", "--hardware", "b300-8x", "-o", where)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_full_disk_under_stdout_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", "from ddtree_ops.cli import main; main()", "doctor", "--format", "json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=PROJECT,
            timeout=30,
        )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("closed", ["0<&-", ">&-", "2>&-", "0<&- >&- 2>&-"])
def test_closed_streams_are_survived(closed: str) -> None:
    command = f"{sys.executable} -c 'from ddtree_ops.cli import main; main()' deploy --host nobody --format json {closed}"
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROJECT,
        timeout=30,
        env={**os.environ, "DDTREE_OPS_INVENTORY": "inventories/lab"},
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert closed != "2>&-" or json.loads(done.stdout)["exit_code"] == 2


def test_no_color_is_honoured() -> None:
    command = f"{sys.executable} -c 'from ddtree_ops.cli import main; main()' doctor"
    done = subprocess.run(
        ["script", "-qec", command, "/dev/null"],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROJECT,
        timeout=30,
        env={**os.environ, "NO_COLOR": "1", "TERM": "xterm"},
    )
    assert "controller" in done.stdout
    assert "\x1b[3" not in done.stdout


def test_init_writes_an_inventory_that_loads_and_overwrites_nothing(tmp_path: Path) -> None:
    args = ("init", "--host", "ct200", "--address", "192.0.2.7", "--hardware", "rtx-pro-6000-8x")
    assert run(*args, cwd=tmp_path).returncode == 0
    assert run("doctor", cwd=tmp_path).returncode == 0
    again = run(*args, cwd=tmp_path)
    assert again.returncode == 2
    assert "exists already" in again.stderr


def test_triage_of_the_recorded_story(tmp_path: Path) -> None:
    journal = PROJECT / "tests" / "cases" / "recorded" / "tp2_ddtree_shape" / "journal.jsonl"
    done = run("triage", "--file", str(journal), "--format", "json")
    assert done.returncode == 4
    assert json.loads(done.stdout)["failures"][0]["kind"] == "graph_token_count_mismatch"
    piped = run("triage", "-", "--format", "markdown", stdin=journal.read_text())
    assert piped.returncode == 4
    assert "graph_token_count_mismatch" in piped.stdout
    assert run("triage", "-", stdin="").returncode == 10


def test_a_closed_pipe_is_no_error() -> None:
    journal = PROJECT / "tests" / "cases" / "recorded" / "tp2_ddtree_shape" / "journal.jsonl"
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -c 'from ddtree_ops.cli import main; main()' triage --file {journal} | true"],
        capture_output=True,
        text=True,
        check=True,
        cwd=PROJECT,
        timeout=30,
    )
    assert "Traceback" not in done.stderr
