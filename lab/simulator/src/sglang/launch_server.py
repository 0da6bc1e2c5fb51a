"""`python -m sglang.launch_server`: read settings and arguments, start the server."""

from __future__ import annotations

import os
import sys
import time
import warnings

from sglang.simulation.faults import SettingsError
from sglang.simulation.settings import Settings, read_settings
from sglang.srt.server_args import ServerArgs, prepare_server_args


def run_server(server_args: ServerArgs, settings: Settings) -> None:
    """Run the HTTP server with its processes until it is told to stop."""
    from sglang.srt.entrypoints.http_server import launch_server

    launch_server(server_args, settings)


def _settings() -> Settings:
    try:
        return read_settings()
    except SettingsError as error:
        print(f"sglang simulator: {error}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    settings = _settings()
    warnings.warn(
        "'python -m sglang.launch_server' is still supported, but 'sglang serve' is the recommended entrypoint.\n"
        "  Example: sglang serve --model-path <model> [options]",
        UserWarning,
        stacklevel=1,
    )
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    time.sleep(settings.phase_seconds["arguments"] * 0.3)
    if settings.fault("crash", "arguments"):
        raise ValueError("simulated failure in phase arguments (SIM_FAULT=crash:arguments)")
    server_args = prepare_server_args(sys.argv[1:])
    run_server(server_args, settings)
