"""Module ddtree_deadman: arms or disarms the dead-man; arming installs its program first."""

from __future__ import annotations

import pkgutil
import sys

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.ddtree_host import deadman, durable
from ansible.module_utils.ddtree_host.fence import HostError, fenced, told
from ansible.module_utils.ddtree_host.places import Places

DOCUMENTATION = r"""
module: ddtree_deadman
short_description: Switch back to the last good release by itself unless a deploy is committed in time
options:
  state: {type: str, choices: [armed, disarmed], default: armed, description: What shall be.}
  release: {type: str, description: The release that is about to go live.}
  port: {type: int, description: Its port.}
  back_to: {type: str, description: Release to go back to; empty if there is none, left out for the last good one.}
  after_s: {type: int, description: Seconds until it switches back.}
  by: {type: str, default: "", description: Who deploys.}
  lock_token: {type: str, default: "", description: Token of the caller's lock; without it the lock is taken meanwhile.}
"""
OPTIONS = {
    "state": {"type": "str", "choices": ["armed", "disarmed"], "default": "armed"},
    "release": {"type": "str"},
    "port": {"type": "int"},
    "back_to": {"type": "str"},
    "after_s": {"type": "int"},
    "by": {"type": "str", "default": ""},
    "lock_token": {"type": "str", "default": "", "no_log": False},
}


def install(places: Places) -> None:
    """The very code that runs here, out of Ansible's own archive."""
    package = places.program / "ddtree_host"
    package.mkdir(mode=0o755, parents=True, exist_ok=True)
    for name in deadman.FILES:
        source = pkgutil.get_data(deadman.__package__, f"{name}.py")
        durable.write(package / f"{name}.py", source.decode("utf-8"))


def arm(places: Places, options: dict[str, object]) -> dict[str, object]:
    back_to = places.linked("last-good") if options["back_to"] is None else options["back_to"] or None
    install(places)
    python = sys.executable or "/usr/bin/python3"
    record = deadman.arm(places, options["release"], options["port"], back_to, options["after_s"], options["by"], python)
    return {"changed": True, "back_to": record.back_to, "after_s": record.after_s}


def main() -> None:
    module = AnsibleModule(OPTIONS, supports_check_mode=True, required_if=[("state", "armed", ("release", "port", "after_s"))])
    places, options = Places(), module.params
    if module.check_mode:
        module.exit_json(changed=deadman.is_armed(places) != (options["state"] == "armed"))
    try:
        with fenced(places, options["lock_token"], f"ansible: dead-man {options['state']}"):
            done = arm(places, options) if options["state"] == "armed" else {"changed": deadman.disarm(places)}
    except (HostError, OSError) as error:
        module.fail_json(msg=told(error, places))
    module.exit_json(**done)


if __name__ == "__main__":
    main()
