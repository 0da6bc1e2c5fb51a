"""Let SGLang itself judge the arguments, without loading: `python -m sglang_ddtree.check --args-file server.json`.

Plugins are loaded first, as `sglang.launch_server` does it, since they may add algorithms and arguments. Exit 0, or 78
with SGLang's or DDTREE's own words. With DDTREE, the JSON also holds the table of widths (tokens per request of every pass).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .ddtree.options import BUDGET_VARIABLE, SCHEDULE_VARIABLE, TOPK_VARIABLE, read_options
from .ddtree.refusals import Refused
from .ddtree.widths import WidthTable, width_table
from .environment import server_environment
from .exit_codes import ExitCode
from .notify import one_line
from .server_config import ConfigError, ServerConfig, load


@dataclass(frozen=True, slots=True)
class Verdict:
    """What SGLang said of the arguments; `message` is one line."""

    ok: bool
    sglang_version: str | None
    message: str
    widths: WidthTable | None = None
    """Tokens per request of every pass, if the algorithm is DDTREE."""


def main(argv: Sequence[str] | None = None) -> int:
    """Print the verdict on stdout. Returns 0 or 78."""
    parser = argparse.ArgumentParser(prog="sglang_ddtree.check", description="Validate server arguments.")
    parser.add_argument("--args-file", required=True, type=Path, help="server.json")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    options = parser.parse_args(argv)
    with _take_stdout() as stdout:
        verdict = check(options.args_file)
        text = _json(verdict) if options.format == "json" else verdict.message
        stdout.write(text + "\n")
    return 0 if verdict.ok else ExitCode.REFUSED


def check(args_file: Path) -> Verdict:
    """Ask SGLang about the arguments of a server.json."""
    try:
        config = load(args_file)
    except ConfigError as error:
        return Verdict(False, None, str(error))
    os.environ.update(server_environment(config, args_file.resolve().parent))
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            server_args = _prepare(config)
    except Refused as refused:
        return _refusal(refused.message)
    except SystemExit as end:
        words = [line for line in said.getvalue().splitlines() if line.strip()]
        return _refusal(words[-1] if words else f"SGLang ended with status {end.code}")
    except Exception as error:  # noqa: BLE001 - whatever SGLang or a plugin raises is its verdict
        return _refusal(f"{type(error).__name__}: {error}")
    finally:
        sys.stderr.write(said.getvalue())
    return Verdict(True, _sglang_version(), "SGLang accepts these arguments", _widths(server_args))


def _json(verdict: Verdict) -> str:
    """One document; `widths` is there only with DDTREE."""
    return json.dumps(
        {name: value for name, value in asdict(verdict).items() if name != "widths" or value is not None}, default=str
    )


def _widths(server_args: Any) -> WidthTable | None:
    """The widths that follow from completed arguments; None without DDTREE, or where the block size is left to the drafter."""
    if str(server_args.speculative_algorithm).upper() != "DDTREE":
        return None
    fields = {
        BUDGET_VARIABLE: "speculative_ddtree_budget",
        TOPK_VARIABLE: "speculative_ddtree_topk_cap",
        SCHEDULE_VARIABLE: "speculative_ddtree_budget_schedule",
    }
    said = {variable: getattr(server_args, name, None) for variable, name in fields.items()}
    environment = {**os.environ, **{variable: str(value) for variable, value in said.items() if value is not None}}
    options = read_options(environment, server_args.speculative_dflash_block_size)
    return None if options.block_size is None else width_table(options, options.block_size)


def _prepare(config: ServerConfig) -> Any:
    """Run SGLang's own parser and validation. The placeholder stands for secrets: their flags are validated too."""
    _load_plugins()
    from sglang.srt.server_args import prepare_server_args

    secrets = [f"{entry.argument}=placeholder" for entry in config.credentials if entry.argument]
    sys.argv = ["sglang.launch_server", *config.argv, *secrets]
    return prepare_server_args(sys.argv[1:])


def _load_plugins() -> None:
    try:
        from sglang.srt.plugins import load_plugins
    except ModuleNotFoundError as error:
        if error.name != "sglang.srt.plugins":  # releases before 0.5.12 have none; anything else is missing by mistake
            raise
        return
    load_plugins()


def _refusal(message: str) -> Verdict:
    lines = [line for line in message.splitlines() if line.strip()]
    return Verdict(False, _sglang_version(), one_line(lines[-1] if lines else message))


def _sglang_version() -> str | None:
    """SGLang's own word; None if it couldn't be imported."""
    version = getattr(sys.modules.get("sglang"), "__version__", None)
    return None if version is None else str(version)


def _take_stdout() -> io.TextIOWrapper:
    """The real stdout for the verdict alone: what anybody else writes to descriptor 1 from now on goes to stderr."""
    sys.stdout.flush()
    stdout = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return stdout


if __name__ == "__main__":
    sys.exit(main())
