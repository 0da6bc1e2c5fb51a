"""The server's arguments as it will get them: the spec's, completed by the hardware profile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ddtree_ops.fleet.release import Release
from ddtree_ops.units.whole_number import whole_number

_MOST = 10**9


@dataclass(frozen=True)
class LaunchWords:
    """Arguments by their flag, the values as words; a bare flag has an empty one."""

    given: Mapping[str, str]

    def text(self, flag: str) -> str | None:
        """The words of a flag, or None if it isn't given."""
        return self.given.get(flag)

    def number(self, flag: str) -> int | None:
        """A whole number of at least 1, or None."""
        value = whole_number(self.given.get(flag, ""), _MOST)
        return value if value else None

    def fraction(self, flag: str) -> float | None:
        """A number between 0 and 1, or None."""
        try:
            value = float(self.given.get(flag, ""))
        except ValueError:
            return None
        return value if 0 < value < 1 else None


def words_of(release: Release) -> LaunchWords:
    """The arguments of a release."""
    return LaunchWords(flags(release.server["argv"]))


def flags(argv: Iterable[str]) -> dict[str, str]:
    """`["--tp-size", "8", "--port=1", "--enable-metrics"]` into `{"--tp-size": "8", "--port": "1", "--enable-metrics": ""}`."""
    found: dict[str, str] = {}
    name = ""
    for word in argv:
        if word.startswith("--"):
            name, _, value = word.partition("=")
            found[name] = value
        else:
            found[name] = f"{found.get(name, '')} {word}".strip()
    return found
