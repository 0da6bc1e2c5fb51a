"""What any deploy needs: Python, systemd, a free port, a right clock."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .catalogue import finding
from .finding import Finding, one_line
from .host import Host
from .processes import Scan, cgroup, command, is_of_unit, unit_of
from .running import Answer

PYTHON_MINIMUM = (3, 11)
SYSTEMD_MINIMUM = 250  # LoadCredential= came with 247; nothing older than 252 (Debian 12) was tried
CLOCK_SKEW_S = 120.0  # more, and logs can't be compared, TLS and tokens fail in odd ways
SYSTEMD = ("systemctl", "--version")
# Finding the modules is enough: importing them takes longer than all the rest.
_CODE = (
    "import sys; from importlib.util import find_spec; print(*sys.version_info[:2]); "
    "sys.exit(' '.join(['it lacks', *missing]) if (missing := [n for n in ('venv', 'ensurepip') if not find_spec(n)]) else 0)"
)


def python_command(python: str) -> tuple[str, ...]:
    """The release's interpreter is asked itself."""
    return (python, "-c", _CODE)


def python(answer: Answer) -> Iterator[Finding]:
    """It exists, is new enough, and can make virtual environments."""
    name, wanted = answer.argv[0], ".".join(map(str, PYTHON_MINIMUM))
    evidence = [f"{name} -c ...: {one_line(answer.out, 120)}"]
    if answer.status != 0:
        expected = f"Python {wanted} or newer with venv and ensurepip"
        yield finding("python", f"{name}: {one_line(answer.out)}", expected, evidence=evidence)
        return
    found = re.match(r"([0-9]{1,3}) ([0-9]{1,3})\b", answer.out)
    if found is None or (int(found[1]), int(found[2])) < PYTHON_MINIMUM:
        version = f"{found[1]}.{found[2]}" if found else "of an unknown version"
        yield finding("python", f"{name} is {version}", f"{wanted} or newer", evidence=evidence)


def systemd(answer: Answer) -> Iterator[Finding]:
    """It runs and is new enough for the unit and for our way of asking it."""
    match = re.match(r"systemd ([0-9]{1,6})", answer.out)
    if answer.status != 0 or not match or int(match[1]) < SYSTEMD_MINIMUM:
        found = one_line(answer.out, 80) or "no systemd"
        yield finding("systemd", found, f"systemd {SYSTEMD_MINIMUM} or newer", evidence=[answer.said(found)])


def port(number: int, scan: Scan, host: Host) -> Iterator[Finding]:
    """Nobody but our own unit listens on it."""
    evidence = [f"/proc/net/tcp: a socket listens on {number}"]
    if scan.listening and not scan.holders:
        found = f"port {number} is taken by a process out of sight"
        yield finding("port", found, "a free port", evidence=evidence)
    for pid in scan.holders:
        group = cgroup(host, pid)
        if not is_of_unit(group, f"ddtree-server@{number}.service"):
            place = one_line(unit_of(group), 80) or "no unit"
            fix = f"stop it (systemctl status {pid}), or give this server another port (ddtree_serving.port)"
            found = f"port {number} is taken by pid {pid} ({command(host, pid)}) of {place}"
            yield finding(
                "port", found, "a free port", fix=fix, evidence=[*evidence, f"/proc/{pid}/cgroup: {one_line(group, 120)}"]
            )
            return


def clock(controller: float, here: float) -> Iterator[Finding]:
    """Both clocks agree; seconds since 1970."""
    ahead = here - controller
    if abs(ahead) > CLOCK_SKEW_S:
        found = f"the host's clock is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} the controller's"
        yield finding(
            "clock", found, f"at most {CLOCK_SKEW_S:.0f} s apart", evidence=[f"time(2): {here:.0f}, controller {controller:.0f}"]
        )
