"""What all signatures of SSH look at: OpenSSH's lines, Ansible's results that quote them, paramiko's exceptions."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Origin, ParsedException
from ddtree_ops.triage.signatures.context import Context, passes_through

_LIBRARIES = ("/paramiko/", "/fabric/", "/asyncssh/")


def said(context: Context, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """The pattern in OpenSSH's own words, printed by it or quoted in Ansible's message."""
    block = context.block
    if block.origin is Origin.SSH:
        return pattern.search(block.text)
    if block.origin is not Origin.ANSIBLE:
        return None
    quoted = "\n".join(line.partition(": ")[2] for line in block.lines if line.startswith(("msg: ", "error: ")))
    about_ssh = "via ssh" in quoted or "via scp" in quoted or any("UNREACHABLE!" in item.text[:400] for item in block.evidence)
    return pattern.search(quoted) if about_ssh or "sshpass" in quoted else None


def raised(context: Context) -> ParsedException | None:
    """An exception that paramiko, fabric or asyncssh raised, or that was raised below them."""
    ending = context.ending
    if ending.type.startswith(("paramiko.", "asyncssh.")) or ending.type.endswith(
        ("NoValidConnectionsError", "BadHostKeyException", "AuthenticationException", "SSHException")
    ):
        return ending
    if ending.type and any(passes_through(ending.frames[-6:], file=library) for library in _LIBRARIES):
        return ending
    return None
