"""OpenSSH's client gave up before anybody refused anything: its own configuration, or no algorithm that both sides know."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature
from ddtree_ops.triage.signatures.ssh_words import said

# readconf.c and misc.c; packet.c and kex.c; mux.c and misc.c (unix_listener)
_CONFIGURATION = re.compile(
    r"Bad owner or permissions on (?P<file>\S{1,500})|(?<!\S)(?P<named>\S{1,500}):? line \d{1,6}: [^\n]{1,200}"
    r"|(?:terminating, )?\d{1,4} bad configuration options|Bad configuration option"
)
_ALGORITHM = re.compile(
    r"Unable to negotiate with (?P<host>\S{1,253})[^:\n]{0,40}: no matching (?P<what>[a-zA-Z ]{1,40}?) found"
    r"(?:\. Their offer: (?P<offer>\S{1,500}))?"
)
_SOCKET = re.compile(r"too long for Unix domain socket|ControlPath too long")


def match(context: Context) -> Finding | None:
    """These have no kind of their own."""
    algorithm = said(context, _ALGORITHM)
    if algorithm:
        offer = f"; the host offers {algorithm['offer']}" if algorithm["offer"] else ""
        return _finding(
            f"SSH found no common {algorithm['what']}",
            f"This OpenSSH and the sshd on {algorithm['host']} know no {algorithm['what']} that both accept{offer}: the host's"
            " sshd is old, or one side's settings (crypto-policies, FIPS) forbid it.",
            "Update the host's sshd; until then allow the old one for this host alone in ssh_config (HostKeyAlgorithms +...).",
        )
    configuration = said(context, _CONFIGURATION)
    if configuration:
        file = configuration["file"] or configuration["named"] or "~/.ssh/config"
        return _finding(
            "OpenSSH refuses its own configuration",
            f"ssh did not even try to connect: {configuration.group().strip()}.",
            f"Mend {file}: owner, mode (600) and options; ssh -G HOST shows whether it can be read.",
        )
    if said(context, _SOCKET):
        return _finding(
            "The path of SSH's control socket is too long",
            "The path of a Unix socket may have 107 characters; ControlPath with this host's name has more.",
            "Set a short one: control_path_dir in ansible.cfg ([ssh_connection]), or ControlPath ~/.ssh/%C.",
        )
    return None


def _finding(title: str, cause: str, fix: str) -> Finding:
    return Finding(Kind.UNKNOWN, title, cause, (fix,), Confidence.LIKELY)


SIGNATURE = Signature(match)
