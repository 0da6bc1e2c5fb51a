"""The hosts of a run, for pyinfra; BENCH_VARS names the JSON file with all values."""

import json
import os
from pathlib import Path

_values = json.loads(Path(os.environ["BENCH_VARS"]).read_text())
hosts = [
    (name, {"ssh_config_file": _values["ssh_config"], "ssh_strict_host_key_checking": "yes"}) for name in _values["bench_hosts"]
]
