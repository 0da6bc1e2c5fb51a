"""Any other task of Ansible that failed: no known kind, but its own words as title."""

from __future__ import annotations

import re
from dataclasses import replace

from ddtree_ops.triage.block import Block, Origin
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature
from ddtree_ops.triage.signatures.ssh_connection import unreachable

_VALUES = re.compile(r"\d{5,20}(?:\.\d{1,20})?")  # process ids, times: the title is the same when it fails again
_OF_SSH = re.compile(
    r"^(?:Task failed: )?(?:Failed to connect to the host via (?:ssh|scp)|Data could not be sent to (?:the )?remote host"
    r"[^.]{0,300}\. Make sure this host can be reached over ssh): ?"
)
_EMPTY_OF_SSH = ("Failed to connect to the host via", "Data could not be sent to")
_EMPTY = ("non-zero return code", "MODULE FAILURE", "Error executing command.", "All items completed", "One or more items failed")


def match(context: Context) -> Finding | None:
    """The last of all signatures: what failed is named, why isn't known."""
    block = context.block
    if block.origin is not Origin.ANSIBLE or block.exceptions:
        return None
    if any("UNREACHABLE!" in item.text[:400] for item in block.evidence):
        return _unreachable(block)
    if any(line.startswith("censored: ") for line in block.lines):
        return _finding(
            "An Ansible task failed; its result is hidden (no_log)", "Run the step on the host by hand to see its output."
        )
    said = [
        line.partition(": ")[2] for line in block.lines if line.startswith(("msg: ", "stderr: ", "module_stderr: ", "reason: "))
    ]
    telling = [text for text in said if not text.startswith(_EMPTY)] or said
    title = f"An Ansible task failed: {_VALUES.sub('#', telling[0])}"[:200] if telling else "An Ansible task failed"
    return _finding(title, "Read the task's result above it (ansible-playbook -v shows all of it).")


def _unreachable(block: Block) -> Finding:
    """What none of SSH's signatures knows, in ssh's own words: for Ansible, all before a login is unreachable."""
    words = next((line.partition(": ")[2] for line in block.lines if line.startswith("msg: ")), "")
    words = _OF_SSH.sub("", words).strip()
    if not words or words.startswith(_EMPTY_OF_SSH):
        found = unreachable(None, block.header or None, None)
        return replace(found, confidence=Confidence.LIKELY)
    title = f"Ansible can't connect: {_VALUES.sub('#', words)}"[:200]
    return _finding(title, "Connect by hand with the same user and key (ssh -vv): it shows how far it comes.")


def _finding(title: str, fix: str) -> Finding:
    return Finding(Kind.UNKNOWN, title, None, (fix,), Confidence.UNKNOWN)


SIGNATURE = Signature(match)
