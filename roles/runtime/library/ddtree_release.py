#!/usr/bin/python
"""Stage one release on a host: the remote half of the action plugin of the same name."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.ddtree_staging import build, drift, swap, wheels
from ansible.module_utils.ddtree_staging.fence import Fence
from ansible.module_utils.ddtree_staging.lock import staging_lock
from ansible.module_utils.ddtree_staging.order import Order, Patch, Wheel
from ansible.module_utils.ddtree_staging.problem import Problem, disk_full, free_mib, is_full
from ansible.module_utils.ddtree_staging.programs import Failed

DOCUMENTATION = r"""
module: ddtree_release
short_description: Stage an immutable SGLang release; touches nothing that serves
description:
  - One task for what staging needs on a host. Service user, directories, leftovers of interrupted runs, wheels, uv, virtual
    environment, packages by hash, patches, manifest, and the rename that makes it a release.
  - Use it through the role runtime, which fills in everything. Its action plugin sends the wheels that the host lacks.
options:
  release_id: {type: str, required: true, description: Name of the release.}
  root: {type: path, required: true, description: Directory of releases, cache, wheelhouse and tools.}
  home: {type: path, required: true, description: Home directory of the service user; not made.}
  user: {type: str, required: true, description: Service user.}
  python: {type: path, required: true, description: Interpreter of the release.}
  requirements: {type: str, required: true, description: Text with a hash for every package.}
  server: {type: str, required: true, description: Text of server.json.}
  unit: {type: str, required: true, description: Text of the unit.}
  seed: {type: dict, required: true, description: What the controller knows for manifest.json.}
  uv_lock: {type: str, required: true, description: Text of uv's own hash lock.}
  uv_version: {type: str, required: true, description: The version that it names.}
  offline: {type: bool, default: false, description: Install from the wheelhouse alone.}
  wheels: {type: list, elements: dict, default: [], description: "Wheels from the controller: name, sha256, own."}
  patches: {type: list, elements: dict, default: [], description: "Unified diffs: name, sha256, content (base64)."}
  repair: {type: bool, default: false, description: Stage anew although the release looks whole.}
  listed: {type: bool, default: true, description: Whether C(wheels) is complete; if not, a release to build ends with C(wanted).}
  lock_token: {type: str, default: "", description: Token of the caller's lock of the host; without it none is asked for.}
  incoming: {type: path, description: Directory of wheels that were just sent, each named by its sha256.}
author: ddtree-ops
"""

RETURN = r"""
staged: {type: bool, returned: always, description: Whether a release was made.}
wanted: {type: dict, returned: if something has to be sent first, description: Digests of missing wheels or "the list"}
damage: {type: list, returned: if staged, description: What was wrong with the release that was there.}
patched: {type: int, returned: if staged, description: Number of files that patches touched.}
replaced: {type: str, returned: if staged, description: Where the release that was there is now; empty if there was none.}
would_stage: {type: bool, returned: in check mode, description: Whether a release would be made.}
"""


# no_log keeps what is large, not what is secret, out of the host's journal.
ARGUMENTS: dict[str, Any] = {
    "release_id": {"type": "str", "required": True},
    "root": {"type": "path", "required": True},
    "home": {"type": "path", "required": True},
    "user": {"type": "str", "required": True},
    "python": {"type": "path", "required": True},
    "requirements": {"type": "str", "required": True, "no_log": True},
    "server": {"type": "str", "required": True, "no_log": True},
    "unit": {"type": "str", "required": True, "no_log": True},
    "seed": {"type": "dict", "required": True},
    "uv_lock": {"type": "str", "required": True, "no_log": True},
    "uv_version": {"type": "str", "required": True},
    "offline": {"type": "bool", "default": False},
    "wheels": {"type": "list", "elements": "dict", "default": []},
    "patches": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {"name": {"type": "str"}, "sha256": {"type": "str"}, "content": {"type": "str", "no_log": True}},
    },
    "repair": {"type": "bool", "default": False},
    "listed": {"type": "bool", "default": True},
    "incoming": {"type": "path"},
    "lock_token": {"type": "str", "default": "", "no_log": False},
}


def order_of(given: dict[str, Any]) -> Order:
    """The module's arguments as an order."""
    plain = (
        "release_id",
        "user",
        "python",
        "requirements",
        "server",
        "unit",
        "seed",
        "uv_lock",
        "uv_version",
        "offline",
        "repair",
    )
    return Order(
        **{name: given[name] for name in plain},
        root=Path(given["root"]),
        home=Path(given["home"]),
        fence=Fence(given["lock_token"]),
        wheels=tuple(Wheel(one["name"], one["sha256"], bool(one.get("own", True))) for one in given["wheels"]),
        patches=tuple(Patch(one["name"], one["sha256"], base64.b64decode(one["content"])) for one in given["patches"]),
    )


def stage(order: Order, *, listed: bool, incoming: str | None) -> dict[str, Any]:
    """Stage unless it is there already. Raises Problem, OSError."""
    changed = build.prepare_host(order)
    there = order.release.exists()
    damage = drift.damage(order.release) if there else []
    if there and not damage and not order.repair:
        return {"changed": changed, "staged": False}
    with staging_lock(order.root) as lock:
        if not there and order.release.exists() and not drift.damage(order.release):  # another run was quicker
            return {"changed": changed, "staged": False}
        swap.clear_leftovers(order.releases)
        if incoming:
            wheels.take_in(order, Path(incoming))
        if lacking := wheels.missing(order):
            return {"changed": changed, "staged": False, "wanted": {"sha256": [wheel.sha256 for wheel in lacking]}}
        try:
            built = build.build(order, lock)
        except Failed:
            if listed:
                raise
            # Most often what is on the host is enough; else the controller reads its wheelhouse.
            return {"changed": changed, "staged": False, "wanted": {"list": True}}
    return {
        "changed": True,
        "staged": True,
        "patched": built.patched,
        "damage": damage,
        "replaced": str(built.replaced or ""),
    }


def main() -> None:
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    order = order_of(module.params)
    if module.check_mode:
        whole = order.release.exists() and not drift.damage(order.release) and not order.repair
        module.exit_json(changed=not whole, staged=False, would_stage=not whole)
    before = free_mib(order.root)
    try:
        module.exit_json(**stage(order, listed=module.params["listed"], incoming=module.params["incoming"]))
    except Problem as problem:
        module.fail_json(msg="\n".join((problem.message, *problem.lines)))
    except OSError as error:
        problem = disk_full(order.root, before) if is_full(error) else Problem(f"staging failed: {error}")
        module.fail_json(msg=problem.message)


if __name__ == "__main__":
    main()
