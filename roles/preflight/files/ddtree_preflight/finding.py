"""What a check says."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

ERROR = "error"  # the deploy breaks, or the server answers wrongly, certainly or nearly so: it is refused
WARNING = "warning"  # shown; it may cost speed, or a start now and then
NOTE = "note"  # for whoever asks: true, and mostly harmless

MOST_EVIDENCE = 10
# Not the one in a list of several.
_GPU = re.compile(r"\bGPU ([0-9]{1,3})\b(?!,)")
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class Finding:
    """`found` against `expected`; `evidence` are commands or files, each with its telling line."""

    check: str
    severity: str
    found: str
    expected: str
    fix: str
    evidence: tuple[str, ...] = ()


def one_line(text: str, limit: int = 300) -> str:
    """Fit for a message: one line, nothing that a terminal would obey."""
    whole = _SPACES.sub(" ", text[: 8 * limit]).strip()
    return "".join(letter for letter in whole if letter.isprintable())[:limit]


def listed(items: list[str], most: int = 8) -> str:
    """`a, b, c and 5 more`."""
    shown = ", ".join(items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"


def merged(findings: list[Finding]) -> list[Finding]:
    """What is said of several GPUs in the same words is said once: `BAR1 of GPU 0, 1, 2 is 256 MiB`."""
    groups: dict[tuple[str, ...], list[tuple[str, Finding]]] = {}
    for one in findings:
        numbers = _GPU.findall(one.found)
        words = _GPU.sub("GPU", one.found) if len(numbers) == 1 else one.found
        group = groups.setdefault((one.check, one.severity, one.expected, one.fix, words), [])
        group.append((numbers[0] if len(numbers) == 1 else "", one))
    return [_one(group) for group in groups.values()]


def _one(group: list[tuple[str, Finding]]) -> Finding:
    first = group[0][1]
    if len(group) == 1:
        return first
    found = _GPU.sub(f"GPU {listed([number for number, _ in group])}", first.found) if group[0][0] else first.found
    evidence = tuple(dict.fromkeys(line for _, one in group for line in one.evidence))[:MOST_EVIDENCE]
    return replace(first, found=found, evidence=evidence)
