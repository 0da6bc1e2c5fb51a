"""The server process: `python -m sglang_ddtree.serve --release DIR`.

Secrets go from systemd's credentials into this interpreter's sys.argv and environment; the command line that `ps`
shows holds none.
Then this process becomes `sglang.launch_server`. Ranks are spawned from that module as if it had been started directly:
`alter_sys` puts it, not this file, in the place of `__main__`.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import runpy
import signal
import sys
from pathlib import Path

from . import redaction
from .credentials import read_secrets
from .environment import server_environment
from .exit_codes import ExitCode
from .server_config import FILE_NAME, ConfigError, load
from .server_process import LAUNCHER_PID

_PR_SET_PDEATHSIG = 1  # prctl(2)


def main() -> None:
    """Become SGLang's server. Ends with status 78 if the release's configuration can't be used."""
    parser = argparse.ArgumentParser(prog="sglang_ddtree.serve")
    parser.add_argument("--release", required=True, type=Path)
    release = parser.parse_args().release.resolve()
    _die_with_the_launcher()
    try:
        config = load(release / FILE_NAME)
        secrets = read_secrets(config)
    except ConfigError as error:
        print(f"ddtree serve: {error}", file=sys.stderr)
        sys.exit(ExitCode.REFUSED)
    os.environ.update(server_environment(config, release))
    os.environ.update(secrets.environment)
    redaction.install(secrets.values)
    sys.argv = ["sglang.launch_server", *config.argv, *secrets.arguments]
    runpy.run_module("sglang.launch_server", run_name="__main__", alter_sys=True)


def _die_with_the_launcher() -> None:
    """SIGKILL for this process when the launcher dies; SGLang's ranks do the same with regard to this one."""
    launcher = os.environ.pop(LAUNCHER_PID, "")
    if not launcher:
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(launcher):  # it died before we asked
        sys.exit(ExitCode.CRASHED)


if __name__ == "__main__":
    main()
