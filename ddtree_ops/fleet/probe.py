"""The probe of a staged release on a host's GPUs: its command, whose answer `preflight.parse` reads."""

from __future__ import annotations

import base64
import json
import zlib
from functools import cache

from ddtree_ops import assets
from ddtree_ops.fleet import places
from ddtree_ops.fleet.release import Release
from ddtree_ops.ports import Command

FILES = ("probe.py", "probe_parts.py")
PART_SECONDS = 60.0
# Imports, compiler, and ranks that get twice as long; then killing, and the connection's own time.
TIMEOUT_SECONDS = 5 * PART_SECONDS + 30.0
# In a folder of its own: Triton reads a kernel's source from its file.
_BOOTSTRAP = """\
import base64,json,os,shutil,subprocess,sys,tempfile,zlib
folder=tempfile.mkdtemp(prefix="ddtree-probe-")
try:
    for name,text in json.loads(zlib.decompress(base64.b85decode(sys.argv[1]))).items():
        with open(os.path.join(folder,name),"w",encoding="utf-8") as stream: stream.write(text)
    code=subprocess.call([sys.executable,"-P",os.path.join(folder,"probe.py"),sys.argv[2]])
finally:
    shutil.rmtree(folder,ignore_errors=True)
sys.exit(code)
"""


def command(release: Release) -> Command:
    """Run it by the staged release's own Python: loads the GPUs, for a few minutes at most."""
    python = f"{places.ROOT}/releases/{release.id}/venv/bin/python"
    wanted = {
        "ranks": release.hardware.gpu_count,
        "seconds": PART_SECONDS,
        "environment": dict(release.server["environment"]),
        "sglang": release.wanted_stack()["packages"].get("sglang"),
    }
    argv = (python, "-P", "-c", _BOOTSTRAP, _packed(), json.dumps(wanted))
    return Command(argv, ok=frozenset(range(256)), timeout=TIMEOUT_SECONDS)


@cache
def _packed() -> str:
    texts = {name: assets.role_file("preflight", name).read_text(encoding="utf-8") for name in FILES}
    return base64.b85encode(zlib.compress(json.dumps(texts).encode(), 9)).decode()
