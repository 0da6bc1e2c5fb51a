"""A commented inventory to start from, for one host (`ddtree-ops init`)."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from textwrap import dedent, indent

import yaml

from ddtree_ops.errors import UsageError
from ddtree_ops.fleet.groups import name_problem
from ddtree_ops.fleet.hardware import profile
from ddtree_ops.fleet.profile import HardwareProfile, Speculation

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


def starter_inventory(
    host: str,
    address: str | None,
    hardware: str,
    model_path: str,
    draft_path: str | None,
) -> dict[str, str]:
    """Texts by relative path. `address` None: the host's name is looked up by ssh.

    `draft_path` None: no speculation. Raises UsageError for a host name, profile or path that can't be.
    """
    chosen = profile(hardware)
    if not _NAME.fullmatch(host):
        raise UsageError(f"{host!r} can't be a host name", hint="letters, digits, '-', '.' and '_' in between")
    for name in (host, address or ""):
        if problem := name_problem(name):
            raise UsageError(f"a host name or address {problem}")
    for path in (model_path, draft_path or model_path):
        if not path.startswith("/") or not path.isprintable():
            raise UsageError(f"{path!r} isn't an absolute path on the host")
    group = chosen.name.replace("-", "_")
    return {
        "hosts.yml": _hosts(host, address, group),
        "group_vars/all/connection.yml": _CONNECTION,
        f"group_vars/{group}.yml": _group(chosen),
        f"host_vars/{host}.yml": _serving(model_path, draft_path, chosen),
    }


def _quoted(text: str) -> str:
    """As a YAML value: quoted only where YAML would read something else than this text."""
    return yaml.safe_dump(text, width=10_000, allow_unicode=True).removesuffix("...\n").strip()


def _hosts(host: str, address: str | None, group: str) -> str:
    own = f"          ansible_host: {_quoted(address)}\n" if address else ""
    return (
        "# A plain Ansible inventory; ansible-playbook -i reads it too. Further hosts go below `hosts`.\n"
        f"all:\n  children:\n    {group}:\n      hosts:\n        {_quoted(host)}:\n{own}"
    )


def _group(hardware: HardwareProfile) -> str:
    return (
        f"# {hardware.title}. The profile brings defaults for SGLang's arguments and environment,\n"
        "# and refuses what can't work on these cards.\n"
        f"ddtree_hardware: {hardware.name}\n"
    )


def _serving(model_path: str, draft_path: str | None, hardware: HardwareProfile) -> str:
    defaults = hardware.argument_defaults(Speculation.DDTREE if draft_path else Speculation.NONE)
    known = indent("\n".join(f"{name}: {_shown(default.value)}" for name, default in sorted(defaults.items())), "  #   ")
    rest = _REST.replace("KNOWN", known).replace("NAME", _quoted(PurePosixPath(model_path).name))
    size = "# bytes: 590000000000          # du -sb; for a load percentage"
    return f"ddtree_serving:\n  model:\n    path: {_quoted(model_path)}\n    {size}\n{_draft(draft_path)}{rest}"


def _shown(value: object) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=10_000).removesuffix("...\n").strip()


def _draft(draft_path: str | None) -> str:
    if draft_path is None:
        return "  # draft_model:                   # a DFlash draft; with it DFLASH or, with a ddtree section, DDTREE\n"
    return f"  draft_model:\n    path: {_quoted(draft_path)}\n{indent(_TREE, '  ')}"


_CONNECTION = """\
# How to log in. Host keys are always checked: connect once with ssh to put them into known_hosts.
# ansible_user: root
# ansible_become: true            # for another user, who must be able to run `sudo -n`
# ansible_port: 22
# ansible_ssh_private_key_file: /home/you/.ssh/id_ed25519
# ansible_ssh_common_args: -J bastion.example.net
"""

_TREE = dedent("""\
    ddtree:                          # without this section: plain DFLASH
      block_size: 8                  # tokens that the draft fills in one pass; must fit the draft model
      budget: 31                     # draft nodes; verification sees budget + 1 tokens
      topk_cap: 8                    # most candidates per depth
      # budget_schedule: {1: 31, 8: 23}    # smaller trees for larger batches
""")

_REST = """\
  port: 30000
  listen: 127.0.0.1                # wider needs secrets.api_key
  # secrets:
  #   api_key: {env: DDTREE_API_KEY}         # or {file: PATH}, or {vault: VARIABLE}; never the value
  server_args:
    served-model-name: NAME
  # Set by the hardware profile unless server_args says otherwise:
KNOWN
  # environment: {NCCL_DEBUG: "WARN"}
  # runtime: {lock: sglang-0.5.13.post1-cu130, python: /usr/bin/python3.12}
  load_budget: 30m                 # from start to ready
  stall_after: 10m                 # nothing moves while loading
  drain: 60s                       # running requests may finish at a stop
  smoke:
    - prompt: The capital of France is
      expect: Paris
"""
