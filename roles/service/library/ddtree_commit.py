"""Module ddtree_commit: the current release has proved itself: records it as the last good one, disarms, prunes."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.ddtree_host import committing
from ansible.module_utils.ddtree_host.fence import HostError, fenced, told
from ansible.module_utils.ddtree_host.places import Places

DOCUMENTATION = r"""
module: ddtree_commit
short_description: Record the current release as the last good one, disarm the dead-man, remove old releases
options:
  release: {type: str, required: true, description: The release that has proved itself; it must be the current one.}
  port: {type: int, required: true, description: Its port; server units on other ports are stopped and removed.}
  keep: {type: int, default: 3, description: Releases that are kept besides the current and the last good one.}
  audit: {type: dict, default: {}, description: Further fields of the audit line.}
  lock_token: {type: str, default: "", description: Token of the caller's lock; without it the lock is taken meanwhile.}
"""
OPTIONS = {
    "release": {"type": "str", "required": True},
    "port": {"type": "int", "required": True},
    "keep": {"type": "int", "default": 3},
    "audit": {"type": "dict", "default": {}},
    "lock_token": {"type": "str", "default": "", "no_log": False},
}


def main() -> None:
    module = AnsibleModule(OPTIONS, supports_check_mode=True)
    places, options = Places(), module.params
    if module.check_mode:
        module.exit_json(changed=places.linked("last-good") != options["release"])
    try:
        with fenced(places, options["lock_token"], "ansible: commit"):
            done = committing.commit(places, options["release"], options["port"], options["keep"], options["audit"])
    except (HostError, OSError) as error:
        module.fail_json(msg=told(error, places))
    for warning in done.warnings:
        module.warn(warning)
    module.exit_json(changed=done.changed, pruned=list(done.pruned))


if __name__ == "__main__":
    main()
