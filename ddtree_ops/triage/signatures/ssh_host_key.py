"""The host's SSH key isn't the one that known_hosts has, or known_hosts has none."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature
from ddtree_ops.triage.signatures.ssh_words import raised, said

# sshconnect.c, warn_changed_key() and check_host_key()
_CHANGED = re.compile(r"REMOTE HOST IDENTIFICATION HAS CHANGED|POSSIBLE DNS SPOOFING DETECTED|Host key for \S{1,253} has changed")
_OFFENDING = re.compile(r"Offending \S{1,20} key in (?P<file>\S{1,1000}):(?P<line>\d{1,9})")
_UNVERIFIED = re.compile(
    r"Host key verification failed|No \S{1,20} host key is known for|host key (?:is not|isn't) known"
    r"|add this host's fingerprint to your known_hosts"
)
_PARAMIKO_CHANGED = re.compile(r"Host key for server .{1,300} does not match|BadHostKeyException")
_PARAMIKO_UNKNOWN = re.compile(r"not found in known_hosts|Host key is not trusted|HostKeyNotVerifiable")


def match(context: Context) -> Finding | None:
    """OpenSSH's banner, or paramiko's exception; without either the key is only unknown."""
    error = raised(context)
    text = f"{error.type}: {error.message}" if error else ""
    if said(context, _CHANGED) or _PARAMIKO_CHANGED.search(text):
        return _changed(said(context, _OFFENDING))
    if said(context, _UNVERIFIED) or _PARAMIKO_UNKNOWN.search(text):
        return _unknown()
    return None


def _changed(offending: re.Match[str] | None) -> Finding:
    where = f"line {offending['line']} of {offending['file']}" if offending else "known_hosts"
    return Finding(
        Kind.SSH_HOST_KEY_CHANGED,
        "The host's SSH key has changed",
        f"The host shows another key than {where} has for it: it was installed anew, another machine has its address, or somebody"
        " sits in between.",
        (
            "Ask for the new key another way (the host's console: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub) and compare.",
            "If it is right: ssh-keygen -R HOST, then connect once. Don't turn the check off.",
        ),
        Confidence.CERTAIN,
    )


def _unknown() -> Finding:
    """No kind of its own: nothing has changed, the host has only never been met."""
    return Finding(
        Kind.UNKNOWN,
        "The host's SSH key is not known yet",
        "known_hosts has no key for this host, and strict checking doesn't take one unseen.",
        (
            "Ask for the host's key another way, add it to known_hosts (ssh-keyscan HOST, compared by ssh-keygen -lf),"
            " and try again.",
        ),
        Confidence.LIKELY,
    )


SIGNATURE = Signature(match)
