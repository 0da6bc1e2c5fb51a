"""`ddtree-ops params` as it is called: text for people, documents for scripts, exit codes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ddtree_ops.cli.params import SUBCOMMANDS, command
from ddtree_ops.errors import DdtreeOpsError
from tests.runtime.source.small_trees import wheel, write

ENGINE = {
    "sglang/__init__.py": "",
    "sglang/_version.py": "__version__ = '0.5.13.post1'\n",
    "sglang/srt/server_args.py": """\
import dataclasses

@dataclasses.dataclass
class ServerArgs:
    draft_tokens: int = 8
    page_size: int = 1

    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--draft-tokens", type=int, default=ServerArgs.draft_tokens, help="Width of the \\x1b[31mdraft.")
        parser.add_argument("--page-size", "--page", type=int, default=ServerArgs.page_size)
        parser.add_argument("--width-of-draft", dest="draft_tokens", type=int)

    def check(self):
        if self.draft_tokens < 1:
            raise ValueError("too few")
        self.page_size = 1
""",
    "sglang/srt/runner.py": """\
from sglang.srt.server_args import ServerArgs

class Runner:
    def __init__(self, server_args: ServerArgs):
        self.width = 2 * server_args.draft_tokens
""",
}
NEWER = {
    **ENGINE,
    "sglang/_version.py": "__version__ = '0.5.23'\n",
    "sglang/srt/server_args.py": ENGINE["sglang/srt/server_args.py"].replace("draft_tokens: int = 8", "draft_tokens: int = 16"),
}


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    return str(write(tmp_path / "tree", ENGINE))


def params(*args: str) -> Result:
    return CliRunner().invoke(command, args, standalone_mode=False)


def document(*args: str) -> dict[str, object]:
    done = params(*args, "--format", "json")
    assert done.exception is None, done.output
    found: dict[str, object] = json.loads(done.stdout)
    return found


def said(*args: str) -> str:
    error = params(*args).exception
    assert isinstance(error, DdtreeOpsError), error
    assert error.exit_code == 2
    return f"{error.message}; {error.hint}"


def test_every_subcommand_has_a_file_a_summary_and_examples() -> None:
    for name, summary in SUBCOMMANDS:
        module = __import__(f"ddtree_ops.cli.params_{name}", fromlist=["command"])
        assert f"ddtree-ops params {name}" in module.EPILOG
        assert summary.endswith(".")
        assert module.command.help


def test_trace_to_a_target_ends_with_the_verdict(source: str) -> None:
    done = params("trace", "--draft-tokens", "--to", "width", "--source", source)
    assert done.return_value == 0
    lines = done.output.splitlines()
    assert lines[-1].startswith("reaches width in ")
    assert "> 5 |     self.width = 2 * server_args.draft_tokens" in done.output.replace("  >", ">")
    assert "sglang/srt/runner.py:5" in done.output
    no = params("trace", "page_size", "--to", "width", "--source", source)
    assert no.return_value == 0
    assert no.output.splitlines()[-1].startswith("does not reach width")


@pytest.mark.parametrize("flag", ["--width-of-draft", "--width", "--draft-tok"])
def test_a_flag_means_the_field_that_it_sets_also_when_shortened(source: str, flag: str) -> None:
    found = document("trace", flag, "--to", "Runner.width", "--source", source)
    assert (found["name"], found["to"]["reaches"]) == ("draft_tokens", True)  # type: ignore[index]


def test_dashes_that_are_no_flag_are_no_variable_either(source: str) -> None:
    done = params("trace", "--width-of", "--to", "--nonsense", "--source", source)
    assert isinstance(done.exception, DdtreeOpsError)


def test_trace_as_a_document_is_the_agreed_one(source: str) -> None:
    found = document("trace", "draft_tokens", "--to", "width", "--source", source)
    keys = {"name", "root", "version", "definitions", "validations", "writes", "reads", "derived", "to", "blind_spots"}
    assert set(found) == keys
    assert (found["name"], found["root"], found["version"]) == ("draft_tokens", source, "0.5.13.post1")
    to = found["to"]
    assert isinstance(to, dict)
    assert (to["name"], to["reaches"]) == ("width", True)
    assert set(to["path"][0]) == {"file", "line", "function", "code"}
    assert document("trace", "draft_tokens", "--source", source)["to"] is None


def test_list_show_and_explain(source: str) -> None:
    assert "--draft-tokens = 8" in params("list", "--source", source).output
    assert "--page-size" not in params("list", "--source", source, "--grep", "draft").output
    listed = document("list", "--source", source)
    assert listed["version"] == "0.5.13.post1"
    shown = params("show", "draft-tokens", "--source", source).output
    assert "Width of the" in shown
    assert "\x1b" not in shown
    assert document("show", "draft_tokens", "--source", source)["flags"] == ["--draft-tokens"]
    explained = params("explain", "--page-size", "--source", source).output
    assert "self.page_size = 1" in explained
    assert "requested" not in explained


def test_diff_tells_by_its_exit_code(source: str, tmp_path: Path) -> None:
    newer = str(wheel(tmp_path / "sglang-0.5.23.whl", {**NEWER, "sglang-0.5.23.dist-info/METADATA": ""}))
    done = params("diff", source, newer)
    assert done.return_value == 6
    assert "default: 8 -> 16" in done.output
    assert params("diff", "0.5.13.post1", source).return_value == 0, "a version that was read before is known"
    assert params("diff", "0.5.23", "0.5.13.post1").return_value == 6
    assert document("diff", source, newer)["after"] == {"root": newer, "version": "0.5.23"}


def test_an_upgrade_is_told_for_the_spec_of_a_host(source: str, tmp_path: Path) -> None:
    newer = dict(ENGINE)
    newer["sglang/srt/server_args.py"] = newer["sglang/srt/server_args.py"].replace("page-size", "size-of-page")
    newer["sglang/srt/server_args.py"] = newer["sglang/srt/server_args.py"].replace("page_size", "size_of_page")
    inventory = write(
        tmp_path / "inventory",
        {
            "hosts.yml": "all:\n  hosts:\n    ct200:\n      ansible_host: 192.0.2.1\n      ddtree_hardware: rtx-pro-6000-8x\n"
            "      ddtree_serving:\n        model: {path: /srv/m}\n        server_args: {page-size: 64}\n"
        },
    )
    done = params("diff", source, str(write(tmp_path / "newer", newer)), "--host", "ct200", "-i", str(inventory))
    assert done.return_value == 6
    assert "what it does to ct200" in done.output
    assert "breaks" in done.output
    assert "--page-size" in done.output.partition("what it does")[2]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("list",), "--host HOST or --source PATH"),
        (("list", "--host", "a", "--source", "."), "--host HOST or --source PATH"),
        (("list", "--source", "{tree}", "--release", "x"), "--release needs --host"),
        (("list", "--source", "{tree}", "--grep", "("), "--grep"),
        (("list", "--source", "/nowhere"), "no source at /nowhere"),
        (("show", "draft-token", "--source", "{tree}"), "draft_tokens"),
        (("trace", "draft_token", "--source", "{tree}"), "draft_tokens"),
        (("trace", "draft_tokens", "--to", "widht", "--source", "{tree}"), "width"),
        (("diff", "9.9.9", "{tree}"), "was never read here"),
        (("diff", "missing.whl", "{tree}", "-i", "/nowhere"), "no source at missing.whl"),
        (("diff", "nohost", "{tree}", "-i", "/nowhere"), "no inventory"),
    ],
)
def test_a_mistake_is_one_clear_line(source: str, args: tuple[str, ...], expected: str) -> None:
    assert expected in said(*(word.replace("{tree}", source) for word in args))


@pytest.mark.processes
def test_on_a_terminal_places_are_links_and_hostile_names_are_harmless(tmp_path: Path) -> None:
    name = "sglang/srt/ev\x1b]0;il\x07.py"
    root = write(tmp_path / "tree", {**ENGINE, name: "draft_tokens_evil = 1\n\n\ndef f():\n    return draft_tokens_evil\n"})
    argv = [sys.executable, "-c", "from ddtree_ops.cli import main; main()", "params", "trace", "draft_tokens_evil"]
    environment = {**os.environ, "TERM": "xterm-256color", "XDG_CACHE_HOME": str(tmp_path / "xdg")}
    environment.pop("NO_COLOR", None)
    ours, theirs = pty.openpty()
    with subprocess.Popen([*argv, "--source", str(root)], stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        text = b""
        while chunk := _read(ours):
            text += chunk
    os.close(ours)
    assert process.returncode == 0, text
    assert b"\x1b]8;;file://" in text
    assert b"ev%1B%5D0%3Bil%07.py" in text
    assert b"\x1b]0;" not in text


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # a terminal whose other side is closed
        return b""
