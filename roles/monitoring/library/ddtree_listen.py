#!/usr/bin/python
"""Whether services can listen where they are told to, asked of the host before anything that runs is replaced."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterable, Sequence
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: ddtree_listen
short_description: Refuse addresses that the host doesn't have, and ports that two services would share
description:
  - Binds a socket to each address, to a port that is free, and closes it again. Changes nothing, in check mode neither.
options:
  places: {type: list, elements: str, required: true, description: "HOST:PORT, [IPv6]:PORT or :PORT, each of one service."}
author: ddtree-ops
"""

ARGUMENTS: dict[str, Any] = {"places": {"type": "list", "elements": "str", "required": True}}


def _split(place: str) -> tuple[str, str]:
    host, _, port = place.rpartition(":")
    return host.strip("[]"), port


def _everywhere(host: str) -> bool:
    try:
        return not host or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def unbindable(host: str) -> str:
    """Why nothing can listen on this address or name; empty if something can."""
    if _everywhere(host):  # programs take it for all addresses that there are, also without IPv6
        return ""
    try:
        for family, kind, protocol, _, where in socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE):
            with socket.socket(family, kind, protocol) as tried:
                tried.bind(where)
    except (OSError, UnicodeError) as error:  # UnicodeError: a name that can't be one (the codec idna)
        number = error.errno if isinstance(error, OSError) and not isinstance(error, socket.gaierror) else None
        return os.strerror(number) if number else str(getattr(error, "strerror", None) or error)
    return ""


def mistakes(places: Sequence[str]) -> list[str]:
    """A line for each place that can't be had, and for each that is given twice."""
    hosts = sorted({_split(place)[0] for place in places})
    found = [f"nothing can listen on {host} here: {problem}" for host in hosts if (problem := unbindable(host))]
    return found + [f"two services would listen on the same port, {one} and {other}" for one, other in _shared(places)]


def _shared(places: Sequence[str]) -> Iterable[tuple[str, str]]:
    for number, one in enumerate(places):
        for other in places[number + 1 :]:
            (host, port), (its_host, its_port) = _split(one), _split(other)
            if port == its_port and (host == its_host or _everywhere(host) or _everywhere(its_host)):
                yield one, other


def main() -> None:
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    if found := mistakes(module.params["places"]):
        module.fail_json(
            msg="\n".join((*found, "Nothing was changed: give an address of this host (`ip address`), and ports of their own"))
        )
    module.exit_json(changed=False)


if __name__ == "__main__":
    main()
