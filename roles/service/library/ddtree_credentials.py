"""Module ddtree_credentials: a staged release's credentials, and the directory of the host's state."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.ddtree_host import credentials
from ansible.module_utils.ddtree_host.fence import HostError, fenced, told
from ansible.module_utils.ddtree_host.places import Places

DOCUMENTATION = r"""
module: ddtree_credentials
short_description: Give a staged release its credentials; other values for the current one wait until it is switched to again
options:
  release: {type: str, required: true, description: A release that is on the host.}
  credentials:
    type: list
    elements: dict
    default: []
    description: Names and values.
    options:
      name: {type: str, required: true, description: File name.}
      value: {type: str, required: true, description: The secret.}
  lock_token: {type: str, default: "", description: Token of the caller's lock; without it the lock is taken meanwhile.}
"""
OPTIONS = {
    "release": {"type": "str", "required": True},
    "credentials": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {"name": {"type": "str", "required": True}, "value": {"type": "str", "required": True, "no_log": True}},
    },
    "lock_token": {"type": "str", "default": "", "no_log": False},
}


def main() -> None:
    module = AnsibleModule(OPTIONS, supports_check_mode=True)
    places, options = Places(), module.params
    values = {one["name"]: one["value"] for one in options["credentials"]}
    try:
        if module.check_mode:
            module.exit_json(changed=credentials.put(places, options["release"], values, dry=True))
        places.state.mkdir(mode=0o755, parents=True, exist_ok=True)
        with fenced(places, options["lock_token"], "ansible: credentials"):
            changed = credentials.put(places, options["release"], values)
    except (HostError, OSError) as error:
        module.fail_json(msg=told(error, places))
    module.exit_json(changed=changed)


if __name__ == "__main__":
    main()
