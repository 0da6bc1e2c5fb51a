"""The look's program as one text: the modules of `on_host`, and what loads them on the host."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ddtree_ops import assets
from ddtree_ops.fleet import host_program

# In the order of their imports.
MODULES = ("children", "releases", "files", "pins", "units", "standing", "look")
_PACKAGE = "ddtree_look"
# Compressed, because a 40 ms line carries about 14 KiB in its first round trip, and one argument may have 128 KiB (execve(2)).
_BOOTSTRAP = """\
import base64,json,sys,types,zlib
texts=json.loads(zlib.decompress(base64.b85decode(sys.argv[2])))
sys.modules["{package}"]=types.ModuleType("{package}")
for name,text in texts["modules"]:
    name="{package}."+name
    module=sys.modules[name]=types.ModuleType(name)
    module.__package__="{package}"
    exec(compile(text,name,"exec"),module.__dict__)
module.main(sys.argv[1],texts["programs"])
"""


def argv(wanted: Mapping[str, Any], programs: tuple[str, ...] = ()) -> tuple[str, ...]:
    """`wanted` as `on_host/look.py` takes it; `programs` are the roles' own that it names."""
    # -I: neither the login's environment nor its directories change what is imported; -S: the host's own packages neither.
    return ("python3", "-I", "-S", "-c", _BOOTSTRAP.format(package=_PACKAGE), json.dumps(wanted), _packed(programs))


@cache
def _packed(programs: tuple[str, ...]) -> str:
    own = Path(assets.__file__).parent / "on_host"
    texts = {
        "modules": [(name, (own / f"{name}.py").read_text(encoding="utf-8")) for name in MODULES],
        "programs": {name: _program(name) for name in programs},
    }
    return base64.b85encode(zlib.compress(json.dumps(texts).encode(), 9)).decode()


def _program(name: str) -> str:
    if name == "preflight":
        return host_program.preflight()
    return assets.role_file(name, f"{name}.py").read_text(encoding="utf-8")
