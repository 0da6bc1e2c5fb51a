"""Ansible found no Python on the host, or not the one it was told to use."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Origin
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# what the host's shell says of the module's interpreter: only in the module's own streams
_SHELL = re.compile(
    r"^module_std(?:out|err): .{0,200}?(?P<path>[\w./-]{0,500}python[\d.]{0,10})['’]?: (?:not found|No such file or directory"
    r"|command not found|Permission denied)",
    re.MULTILINE,
)
_SAID = re.compile(
    r"^(?:msg|error): .{0,400}?(?:The module interpreter '(?P<path>[^']{1,500})' was not found"
    r"|[Nn]o python interpreters? found for host"
    r"|interpreter_discovery|you probably need to set the (?:right )?interpreter|Unable to (?:find|discover) .{0,60}[Pp]ython)",
    re.MULTILINE,
)
_TOO_OLD = re.compile(
    r"ansible-core requires a minimum of Python(?:2 version [\d.]{1,10} or Python3)? version "
    r"(?P<wanted>[\d.]{1,10})\. Current version: (?P<has>[\d.]{1,10})"
    r"|SyntaxError: future feature annotations is not defined"
)


def match(context: Context) -> Finding | None:
    """By Ansible's own words, or by the shell's in the module's output. A command that lacks Python is another thing."""
    if context.block.origin is not Origin.ANSIBLE:
        return None
    text = context.block.text
    old = _TOO_OLD.search(text)
    if old:
        has = f" ({old['has']}, wanted {old['wanted']})" if old["has"] else ""
        return _finding("The host's Python is too old for Ansible", f"The host's Python is too old for this Ansible{has}.")
    found = _SAID.search(text) or _SHELL.search(text)
    if found is None:
        return None
    path = found["path"]
    return _finding(
        "The host has no Python for Ansible", f"There is no {path or 'Python'} on the host; Ansible's modules need one."
    )


def _finding(title: str, cause: str) -> Finding:
    return Finding(
        Kind.REMOTE_PYTHON_MISSING,
        title,
        cause,
        ("Install python3 on the host, or name the one it has: ansible_python_interpreter in the inventory.",),
        Confidence.CERTAIN,
    )


SIGNATURE = Signature(match)
