"""Write docs/serving-spec.md from the models. Run by `make docs`."""

from pathlib import Path

from ddtree_ops.fleet.monitoring import settings_reference
from ddtree_ops.fleet.reference import spec_reference

HEAD = """\
# The serving spec

`ddtree_serving` of a host, in host_vars or group_vars of a plain Ansible inventory. `ddtree_serving_defaults` has the same keys
and is laid below it, key by key: groups say what hosts have in common. `ddtree_hardware` names the hardware profile, whose
defaults for `server_args` and `environment` lie below both. This page is generated: `make docs`.

"""

MONITORING = """
## How a host is monitored

`ddtree_monitoring`, a variable of its own beside `ddtree_serving`: how Prometheus reaches what the host tells. Service discovery
(`ddtree-ops exporter --inventory`) makes targets of it; a host without it has the defaults.

"""

page = HEAD + spec_reference() + MONITORING + settings_reference()
Path(__file__).with_name("serving-spec.md").write_text(page)
