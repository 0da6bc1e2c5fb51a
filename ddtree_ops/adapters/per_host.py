"""Extra variables of one Ansible run for several hosts.

Extra variables are the only ones that win over every other place, and they are the same for all hosts. So a value that differs
becomes a template that picks the host's own: the values stand once, and each host has the number of its own one. Secrets are
templates already (look-ups that Ansible resolves at run time) and stay so: no value of a secret is ever here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

VALUES = "ddtree_ops_values"
CHOICES = "ddtree_ops_choices"


def extra_variables(of_hosts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """One set of extra variables by which every host sees its own. Raises ValueError where not all have the same names."""
    first, *others = of_hosts.values()
    if any(one.keys() != first.keys() for one in others):
        raise ValueError("hosts of one run need the same variables")
    shared: dict[str, Any] = {}
    values: dict[str, list[Any]] = {}
    choices: dict[str, dict[str, int]] = {host: {} for host in of_hosts}
    for name, value in first.items():
        texts = {host: json.dumps(variables[name], sort_keys=True) for host, variables in of_hosts.items()}
        distinct = list(dict.fromkeys(texts.values()))
        if len(distinct) == 1:
            shared[name] = value
            continue
        values[name] = [json.loads(text) for text in distinct]
        for host, text in texts.items():
            choices[host][name] = distinct.index(text)
        shared[name] = f"{{{{ {VALUES}['{name}'][{CHOICES}[inventory_hostname]['{name}']] }}}}"
    return shared | ({VALUES: values, CHOICES: choices} if values else {})
