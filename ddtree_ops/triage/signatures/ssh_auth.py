"""sshd didn't accept who we say we are."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature
from ddtree_ops.triage.signatures.ssh_words import raised, said

_REFUSED = re.compile(
    r"(?:(?P<user>[\w.-]{1,64})@(?P<host>[\w.:%-]{1,253}): )?Permission denied(?: \((?P<methods>[a-z0-9,-]{1,200})\)"
    r"|, please try again)"
    r"|Too many authentication failures|[Aa]uthentication failed|Invalid/incorrect (?:username/)?password"
    r"|'s password: ?(?:$|\n|\r)|Enter passphrase for key|[Pp]assword for \S{1,300}: ?(?:$|\n|\r)"
    r"|no mutual signature|sshpass program|bad permissions|No supported authentication methods"
)
_PARAMIKO = re.compile(
    r"Authentication(?:Exception| failed| timeout)|AuthFailed|PermissionDenied|No authentication methods available"
    r"|PasswordRequiredException"
    r"|[Bb]ad authentication type|not a valid \S{1,20} private key|encrypted private key|[Pp]rivate key file is encrypted"
)


def match(context: Context) -> Finding | None:
    """OpenSSH's refusal, printed or quoted, or paramiko's exception."""
    found = said(context, _REFUSED)
    error = raised(context)
    if found is None and not (error and _PARAMIKO.search(f"{error.type}: {error.message}")):
        return None
    who = f"{found['user']} on {found['host']}" if found and found["user"] else "the login"
    methods = f" (it would take: {found['methods']})" if found and found["methods"] else ""
    return Finding(
        Kind.SSH_AUTH,
        "The host refused the SSH login",
        f"sshd did not accept the key or password for {who}{methods}.",
        (
            "Look which key is offered (ssh -v) and whether it stands in that user's authorized_keys, with right modes"
            " (700, 600).",
            "Too many keys in the agent: IdentitiesOnly yes and one IdentityFile.",
        ),
        Confidence.CERTAIN,
    )


SIGNATURE = Signature(match)
