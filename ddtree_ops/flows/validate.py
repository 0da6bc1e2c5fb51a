"""Let the staged venv's own SGLang parse the real arguments: seconds, no load, no GPU."""

from __future__ import annotations

import json

from ddtree_ops.errors import Refused
from ddtree_ops.fleet.state import RELEASES
from ddtree_ops.ports import Command, Shell

REFUSED = 78  # EX_CONFIG of sysexits.h(3head): the plugin's check and our launcher use it
TIMEOUT_SECONDS = 180.0


def command(release: str) -> Command:
    """As the service user, as the server will run; 0 = accepted, 78 = refused."""
    base = f"{RELEASES}/{release}"
    argv = ("runuser", "-u", "ddtree", "--", f"{base}/venv/bin/python", "-m", "sglang_ddtree.check")
    return Command((*argv, "--args-file", f"{base}/server.json", "--format", "json"), frozenset({0, REFUSED}), TIMEOUT_SECONDS)


def validate(shell: Shell, release: str) -> str:
    """What SGLang made of the arguments, in a few words. Raises Refused with SGLang's own message."""
    done = shell.run(command(release))
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = {"message": (done.stderr or done.stdout).strip()}
    if done.exit_code == REFUSED:
        raise Refused(
            f"{shell.host}: SGLang refuses the arguments: {answer.get('message')}",
            hint="correct server_args or ddtree in the serving spec",
            evidence=tuple(done.stderr.strip().splitlines()[-10:]),
        )
    return f"SGLang {answer.get('sglang_version') or '?'} accepts the arguments"
