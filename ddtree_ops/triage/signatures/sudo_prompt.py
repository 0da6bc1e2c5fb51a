"""sudo wants a password that it doesn't get."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Origin
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

_WANTED = re.compile(
    r"Missing (?:sudo|su|doas|become) password|sudo: (?:a password is required|a terminal is required|no tty present"
    r"|sorry, you must have a tty"
    r"|no password was provided)|[Tt]imed? ?out (?:\(\d{1,6}s?\) )?waiting for (?:privilege escalation prompt|become "
    r"(?:success|password))"
    r"|[Pp]remature end of stream waiting for become success"
)
_WRONG = re.compile(r"[Ii]ncorrect (?:sudo|su|doas|become) password|sudo: \d{1,3} incorrect password attempts?")
_NOT_ALLOWED = re.compile(r"is not in the sudoers file|is not allowed to execute .{1,400} (?:as|on) |may not run sudo on")


def match(context: Context) -> Finding | None:
    """Ansible's words about becoming root, and sudo's own."""
    if context.block.origin not in (Origin.ANSIBLE, Origin.SSH):
        return None
    text = context.block.text
    if _WANTED.search(text):
        return _finding("sudo asks for a password", "The login may become root only with a password, and none was given.")
    if _WRONG.search(text):
        return _finding(
            "sudo refused the password", "The password that was given for sudo is wrong, or the login may not use sudo."
        )
    if _NOT_ALLOWED.search(text):
        return _finding("sudo doesn't know the login", "The login isn't allowed to become root by sudo.")
    return None


def _finding(title: str, cause: str) -> Finding:
    return Finding(
        Kind.SUDO_PROMPT,
        title,
        cause,
        (
            "Let the login use sudo without a password for this (a file in /etc/sudoers.d, checked by visudo -cf), or log"
            " in as root.",
            "Or let Ansible ask for it (--ask-become-pass), or keep ansible_become_password in a vault.",
        ),
        Confidence.CERTAIN,
    )


SIGNATURE = Signature(match)
