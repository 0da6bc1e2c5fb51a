"""What is wrong with the role's variables: names that nobody reads, and values that would stop a service."""

from __future__ import annotations

import difflib
import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

ROLE = Path(__file__).resolve().parents[1]
_PREFIX = "monitoring_"
_OWN = re.compile(rf"\b{_PREFIX}\w+")
# A name of a host (RFC 1123, 2.1), whose last label isn't all digits: else it is an address that went wrong.
_HOST = re.compile(r"(?!.*(?:^|\.)\d+$)[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,62})(?:\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*")
# As prometheus/common, model.ParseDuration.
_DURATION = re.compile(r"(?=.*[1-9])(\d{1,9}y)?(\d{1,9}w)?(\d{1,9}d)?(\d{1,9}h)?(\d{1,9}m)?(\d{1,9}s)?(\d{1,9}ms)?")
_SECONDS = (365 * 86400, 7 * 86400, 86400, 3600, 60, 1, 0.001)
_MOST_SECONDS = 2**63 / 1e9  # 64 bits of nanoseconds: 292 years
_MOST_PORT = 65535


def address(text: str) -> str:
    """What is wrong with an address to listen on; empty if nothing is."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        if not _HOST.fullmatch(text):
            return "is no IP address and no name of a host; for example 127.0.0.1, or :: for all addresses"
    return ""


def place(text: str) -> str:
    """The same of HOST:PORT, [IPv6]:PORT or :PORT."""
    host, colon, port = text.rpartition(":")
    inner = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    number = int(port) if re.fullmatch(r"[0-9]{1,5}", port) else 0
    if not colon or (":" in inner) != (inner != host) or (inner and address(inner)) or not 0 < number <= _MOST_PORT:
        return f"is no HOST:PORT with a port from 1 to {_MOST_PORT}; for example 127.0.0.1:9090 or [::1]:9090"
    return ""


def duration(text: str) -> str:
    """The same of a duration of Prometheus', longer than 0."""
    found = _DURATION.fullmatch(text)
    if not found:
        return "is no duration longer than 0 as Prometheus has them; for example 15s, 30d, 1d12h"
    seconds = sum(int(part.rstrip("ywdhms")) * unit for part, unit in zip(found.groups(), _SECONDS, strict=True) if part)
    return "" if seconds < _MOST_SECONDS else "is longer than the 292 years that Prometheus can count"


def url(text: str) -> str:
    """The same of http://HOST[:PORT]."""
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    return "" if good and not re.search(r"\s", text) else "is no URL of http or https; for example http://127.0.0.1:9090"


_KINDS: Mapping[str, Callable[[str], str]] = {
    "monitoring_listen": address,
    "monitoring_prometheus_listen": place,
    "monitoring_alertmanager_listen": place,
    "monitoring_retention": duration,
    "monitoring_scrape_interval": duration,
    "monitoring_sd_refresh": duration,
    "monitoring_sd_url": url,
    "monitoring_grafana_prometheus": url,
}
_MAY_BE_EMPTY = ("monitoring_sd_url",)


def unknown(names: Iterable[str]) -> list[str]:
    """Variables with the role's prefix that neither its argument_specs nor the role itself has."""
    options = yaml.safe_load((ROLE / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]["main"][
        "options"
    ]
    files = [*(ROLE / "tasks").glob("*.yml"), *(ROLE / "vars").glob("*.yml"), *(ROLE / "handlers").glob("*.yml")]
    own = {word for file in files for word in _OWN.findall(file.read_text(encoding="utf-8"))}
    found = []
    for name in sorted(set(names) - set(options) - own):
        known = sorted(option.removeprefix(_PREFIX) for option in options)
        near = difflib.get_close_matches(name.removeprefix(_PREFIX), known, n=1)
        found.append(f"{name} is no variable of role monitoring" + (f"; did you mean {_PREFIX}{near[0]}?" if near else ""))
    return found


def mistakes(names: Iterable[str], values: Mapping[str, Any], places: Iterable[str] = ()) -> list[str]:
    """A line for each. `names`: of all variables that begin with monitoring_; `values`: of those that have a form; `places`:
    where services will listen on this host, as HOST:PORT."""
    found = unknown(names)
    for name, judge in _KINDS.items():
        text = str(values.get(name, ""))
        empty = name not in values or (not text and name in _MAY_BE_EMPTY)
        if problem := "" if empty else judge(text):
            found.append(f"{name}: {text[:80]!r} {problem}")
    if not found:  # else they are told above
        found = [f"a service would listen on {one[:80]!r}, which {problem}" for one in places if (problem := place(one))]
    return found


class FilterModule:
    """For tasks/judge.yml."""

    def filters(self) -> dict[str, Callable[..., list[str]]]:
        return {"monitoring_mistakes": mistakes}
