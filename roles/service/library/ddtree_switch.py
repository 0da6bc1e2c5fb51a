"""Module ddtree_switch: makes a staged release the current one, with its own unit text; restarting is left to the caller."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.ddtree_host import switching
from ansible.module_utils.ddtree_host.fence import HostError, fenced, told
from ansible.module_utils.ddtree_host.places import Places

DOCUMENTATION = r"""
module: ddtree_switch
short_description: Make a staged release the current one, without restarting anything
options:
  release: {type: str, required: true, description: A release that is on the host.}
  port: {type: int, required: true, description: Port of the server; names the unit.}
  lock_token: {type: str, default: "", description: Token of the caller's lock; without it the lock is taken meanwhile.}
"""
OPTIONS = {
    "release": {"type": "str", "required": True},
    "port": {"type": "int", "required": True},
    "lock_token": {"type": "str", "default": "", "no_log": False},
}


def main() -> None:
    module = AnsibleModule(OPTIONS, supports_check_mode=True)
    places, options = Places(), module.params
    try:
        if module.check_mode:
            switching.check(places, options["release"], options["port"])
            module.exit_json(changed=places.linked("current") != options["release"])
        with fenced(places, options["lock_token"], "ansible: switch"):
            done = switching.switch(places, options["release"], options["port"])
    except (HostError, OSError) as error:
        module.fail_json(msg=told(error, places))
    if done.aside:
        module.warn(f"{places.root / 'current'} was a directory: it is {done.aside} now")
    module.exit_json(changed=done.changed, before=done.before, aside=str(done.aside or ""))


if __name__ == "__main__":
    main()
