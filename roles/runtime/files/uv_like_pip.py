"""Run uv with the package index that this host's pip is set to use, so that a host has one place for that setting.

uv reads no pip.conf. This runs on the host, from standard input, and replaces itself by uv:
    TOOLS/bin/python - TOOLS/bin/uv pip sync ... < uv_like_pip.py
The settings may hold credentials: they never leave the host and travel in the environment, not in an argument list.
Names of the variables: uv's reference, "Environment variables". Settings in uv's own uv.toml are obeyed as well.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Sequence

# A line of `pip config list`: global.index-url='https://...'; a later section overrides an earlier one, as in pip.
LINE = re.compile(r"(?P<section>global|install|:env:)\.(?P<key>[\w-]+)=(?P<value>['\"].*['\"])\Z")
SECTIONS = ("global", "install", ":env:")


def pip_settings(listing: str) -> dict[str, list[str]]:
    """Settings of `pip install` from the output of `pip config list`; a setting with several values is a list of words."""
    found = [match for match in map(LINE.match, listing.splitlines()) if match]
    ordered = sorted(found, key=lambda match: SECTIONS.index(match["section"]))
    return {match["key"]: str(ast.literal_eval(match["value"])).split() for match in ordered}


def uv_environment(settings: dict[str, list[str]], *, offline: bool) -> dict[str, str]:
    """The same settings in uv's words; without a network only the local ones matter, and those are arguments."""
    system = {"UV_SYSTEM_CERTS": "1", "UV_PYTHON_DOWNLOADS": "never"}
    if offline:
        return system
    wanted = {
        "UV_DEFAULT_INDEX": " ".join(settings.get("index-url", [])),
        "UV_INDEX": " ".join(settings.get("extra-index-url", [])),
        "UV_FIND_LINKS": ",".join(settings.get("find-links", [])),
        "UV_INSECURE_HOST": " ".join(settings.get("trusted-host", [])),
        "SSL_CERT_FILE": " ".join(settings.get("cert", [])),
        "HTTPS_PROXY": " ".join(settings.get("proxy", [])),
        # pip looks for the best version in all indexes. Every file is pinned by its hash here, so that an index
        # can't slip in a package of its own.
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }
    return system | {name: value for name, value in wanted.items() if value}


def main(command: Sequence[str]) -> None:
    pip = (sys.executable, "-m", "pip", "config", "list")
    listing = subprocess.run(pip, capture_output=True, text=True, check=True).stdout
    os.umask(0o022)  # the service user has to read what root installs
    settings = uv_environment(pip_settings(listing), offline="--offline" in command)
    os.execve(command[0], list(command), dict(os.environ) | settings)  # noqa: S606 - no shell is what we want


if __name__ == "__main__":
    main(sys.argv[1:])
