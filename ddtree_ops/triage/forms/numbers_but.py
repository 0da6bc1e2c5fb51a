"""Regular expressions for what a sieve can't ask in simpler words: RE2 has no look-ahead."""

from __future__ import annotations

_DIGITS = "0123456789"


def other_number(numbers: frozenset[int], behind: bytes) -> bytes:
    """Matches every decimal number except these, and then `behind`, which begins with no digit."""
    return _after("", frozenset(map(str, numbers)), behind)


def dated(ranked: bool) -> bytes:
    """The prefix of SGLang's log records (prefixes.py), with a rank in it or not, somewhere in what is left of a line."""
    rank = rb":\d\d[^\]\n]*\d(?: (?:[A-Z]{2,5}_)?[A-Z]{2,3}\d+)+\]" if ranked else rb""
    return rb"[^\n]*\[(?:\d{4}-)?\d\d-\d\d \d\d:\d\d" + rank


def _after(prefix: str, known: frozenset[str], behind: bytes) -> bytes:
    """What may follow a prefix that one of the known numbers has."""
    ways = [_after(prefix + digit, known, behind) for digit in _DIGITS if _leads(prefix + digit, known)]
    firsts = [digit for digit in _DIGITS if _leads(prefix + digit, known)]
    branches = [digit.encode() + way for digit, way in zip(firsts, ways, strict=True)]
    others = "".join(digit for digit in _DIGITS if digit not in firsts)
    if others:
        branches.append(rb"[%s]\d*%s" % (others.encode(), behind))
    if prefix and prefix not in known:
        branches.append(behind)
    return b"(?:" + b"|".join(branches) + b")"


def _leads(prefix: str, known: frozenset[str]) -> bool:
    return any(number.startswith(prefix) for number in known)
