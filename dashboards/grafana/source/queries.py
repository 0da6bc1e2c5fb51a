"""Pieces of PromQL that every dashboard uses."""

from __future__ import annotations

from collections.abc import Mapping

#: The hosts that are chosen above; models and releases narrow the hosts (see variables.py).
HOSTS = 'host=~"$host"'
#: No discovered host has a release: which one serves, and when, is told by this. Where two overlap the one told last holds.
RELEASE = 'topk by (host, port) (1, timestamp(ddtree_ops_release_info{host=~"$host",role="serving",release=~"$release"})) * 0 + 1'


def of_hosts(metric: str, more: str = "", hosts: str = HOSTS) -> str:
    """A selector of the chosen hosts: `of_hosts("x_total", 'kind="a"')` is `x_total{host=~"$host",kind="a"}`."""
    return f"{metric}{{{hosts}{',' + more if more else ''}}}"


def rate(metric: str, more: str = "", hosts: str = HOSTS) -> str:
    """Per second, over the window that Grafana takes for rates: at least four scrapes."""
    return f"rate({of_hosts(metric, more, hosts)}[$__rate_interval])"


def total(by: str, expr: str) -> str:
    """The sum by some labels; "" sums up everything."""
    return f"sum by ({by}) ({expr})" if by else f"sum({expr})"


def ratio(above: str, below: str) -> str:
    """A mean of counters' rates. No value where nothing happened: an idle server has no acceptance, and 0 would be a lie."""
    return f"{above}\n/ ({below} > 0)"


def shared(above: str, below: str) -> str:
    """As ratio, where `below` is one number without labels for all series of `above`."""
    return f"{above}\n/ on () group_left () ({below} > 0)"


def quantile(part: float, metric: str, by: str) -> str:
    """A quantile of a histogram by some labels."""
    return f"histogram_quantile({part}, {total(f'{by}, le' if by else 'le', rate(f'{metric}_bucket'))})"


def by_release(expr: str) -> str:
    """Counters of a server with the release that it served then, as one more label."""
    return f"{expr} * on (host, port) group_left (release) ({RELEASE})"


def state_number(numbers: Mapping[str, int], unit_numbers: Mapping[str, int], more: str) -> str:
    """One number for what a server does, by host and port: its phase, the unit's state where there is no phase, or `more`."""
    phases = (f"{number} * " + of_hosts("ddtree_ops_server_phase", f'phase="{name}"') for name, number in numbers.items())
    units = (f"{number} * " + of_hosts("ddtree_ops_unit_state", f'state="{name}"') for name, number in unit_numbers.items())
    return "max by (host, port) (\n  " + "\n  or ".join((*phases, *units, more)) + "\n)"
