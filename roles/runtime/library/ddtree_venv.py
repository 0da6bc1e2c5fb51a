#!/usr/bin/python
"""A virtual environment from a hash lock, beside the releases: the remote half of the action plugin of the same name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.ddtree_staging import venv as environment
from ansible.module_utils.ddtree_staging import wheels
from ansible.module_utils.ddtree_staging.lock import staging_lock
from ansible.module_utils.ddtree_staging.order import Installation, Wheel
from ansible.module_utils.ddtree_staging.problem import Problem
from ansible.module_utils.ddtree_staging.programs import Failed

DOCUMENTATION = r"""
module: ddtree_venv
short_description: A virtual environment from a hash lock and local wheels, made once for each name, and a link to it
options:
  root: {type: path, required: true, description: "Directory of cache, wheelhouse and tools."}
  folder: {type: path, required: true, description: "Directory that gets the environment, and C(venv), the link to it."}
  name: {type: str, required: true, description: "Name of its directory; another content has another name."}
  python: {type: path, required: true, description: "Interpreter."}
  oldest_python: {type: str, required: true, description: "The oldest Python that its packages run with, such as 3.11."}
  requirements: {type: str, required: true, description: "Text with a hash for every package."}
  uv_lock: {type: str, required: true, description: "Text of uv's own hash lock."}
  uv_version: {type: str, required: true, description: "The version that it names."}
  offline: {type: bool, default: false, description: "Install from the wheelhouse alone."}
  wheels: {type: list, elements: dict, default: [], description: "Wheels from the controller: name, sha256, own."}
  listed: {type: bool, default: true, description: "Whether C(wheels) is complete; if not, one to build ends with C(wanted)."}
  incoming: {type: path, description: "Directory of wheels that were just sent, each named by its sha256."}
author: ddtree-ops
"""

RETURN = r"""
made: {type: bool, returned: always, description: "Whether the environment was made."}
wanted: {type: dict, returned: if something has to be sent first, description: "Digests of missing wheels, or C(list)."}
"""

# no_log keeps what is large, not what is secret, out of the host's journal.
ARGUMENTS: dict[str, Any] = {
    "root": {"type": "path", "required": True},
    "folder": {"type": "path", "required": True},
    "name": {"type": "str", "required": True},
    "python": {"type": "path", "required": True},
    "oldest_python": {"type": "str", "required": True},
    "requirements": {"type": "str", "required": True, "no_log": True},
    "uv_lock": {"type": "str", "required": True, "no_log": True},
    "uv_version": {"type": "str", "required": True},
    "offline": {"type": "bool", "default": False},
    "wheels": {"type": "list", "elements": "dict", "default": []},
    "listed": {"type": "bool", "default": True},
    "incoming": {"type": "path"},
}


def installation_of(given: dict[str, Any]) -> Installation:
    """The module's arguments as an installation."""
    plain = ("python", "requirements", "uv_lock", "uv_version", "offline")
    return Installation(
        **{name: given[name] for name in plain},
        root=Path(given["root"]),
        wheels=tuple(Wheel(one["name"], one["sha256"], bool(one.get("own", True))) for one in given["wheels"]),
    )


def venv_of(given: dict[str, Any]) -> environment.Venv:
    """The module's arguments as a place."""
    major, minor = given["oldest_python"].split(".")
    return environment.Venv(Path(given["folder"]), given["name"], (int(major), int(minor)))


def make(order: Installation, venv: environment.Venv, *, listed: bool, incoming: str | None) -> dict[str, Any]:
    """Make and link it unless that is done. Raises Problem, OSError."""
    if environment.is_whole(venv) and venv.linked == venv.name:
        return {"changed": False, "made": False}
    changed = environment.prepare(order, venv.folder)
    with staging_lock(order.root) as lock:
        made = not environment.is_whole(venv)
        if made:
            if incoming:
                wheels.take_in(order, Path(incoming))
            if lacking := wheels.missing(order):
                return {"changed": changed, "made": False, "wanted": {"sha256": [wheel.sha256 for wheel in lacking]}}
            try:
                environment.build(order, venv, lock)
            except Failed:
                if listed:
                    raise
                # Most often what is on the host is enough; else the controller reads its wheelhouse.
                return {"changed": changed, "made": False, "wanted": {"list": True}}
        former = venv.linked
        linked = environment.link(venv)
        if linked:
            environment.prune(venv, former)
    return {"changed": changed or made or linked, "made": made}


def main() -> None:
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    order, venv = installation_of(module.params), venv_of(module.params)
    if module.check_mode:
        there = environment.is_whole(venv)
        module.exit_json(changed=not there or venv.linked != venv.name, made=False)
    try:
        module.exit_json(**make(order, venv, listed=module.params["listed"], incoming=module.params["incoming"]))
    except Problem as problem:
        module.fail_json(msg="\n".join((problem.message, *problem.lines)))
    except OSError as error:
        module.fail_json(msg=f"the environment can't be made: {error}")


if __name__ == "__main__":
    main()
