"""Let the staged venv's own SGLang parse the real arguments: seconds, no load, no GPU."""

from __future__ import annotations

import json

from ddtree_ops.errors import Refused
from ddtree_ops.fleet import places
from ddtree_ops.ports import Command, Shell
from ddtree_ops.units.exit_codes import ExitCode

TIMEOUT_SECONDS = 180.0


def command(release: str) -> Command:
    """As the service user, as the server will run; 0 = accepted, 78 = refused.

    In a directory that this user may enter, unlike the home of the one who logs in: `python -m` looks for modules there, too.
    """
    base = f"{places.RELEASES}/{release}"
    user = ("runuser", "-u", places.SERVICE_USER, "--", "env", "--chdir=/")
    argv = (*user, f"{base}/venv/bin/python", "-m", "sglang_ddtree.check")
    answered = frozenset({0, ExitCode.REFUSED})
    return Command((*argv, "--args-file", f"{base}/server.json", "--format", "json"), answered, TIMEOUT_SECONDS)


def validate(shell: Shell, release: str) -> str:
    """What SGLang made of the arguments, in a few words. Raises Refused with SGLang's own message."""
    done = shell.run(command(release))
    try:
        answer = json.loads(done.stdout)
    except (ValueError, RecursionError):
        answer = {"message": (done.stderr or done.stdout).strip()}
    if done.exit_code == ExitCode.REFUSED:
        raise Refused(
            f"{shell.host}: SGLang refuses the arguments: {answer.get('message')}",
            hint="correct server_args or ddtree in the serving spec",
            evidence=tuple(done.stderr.strip().splitlines()[-10:]),
        )
    return f"SGLang {answer.get('sglang_version') or '?'} accepts the arguments"
