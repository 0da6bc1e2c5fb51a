"""The package index that this host's pip is set to use, in uv's words, so that a host has one place for that setting.

uv reads no pip.conf. The settings may hold credentials: they never leave the host and travel in the environment, not in an
argument list. Names of the variables: uv's reference, "Environment variables". Settings in uv's own uv.toml are obeyed as well.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
from pathlib import Path

from ansible.module_utils.ddtree_staging.problem import Problem

# A line of `pip config list`: global.index-url='https://...'; a later section overrides an earlier one, as in pip.
LINE = re.compile(r"(?P<section>global|install|:env:)\.(?P<key>[\w-]{1,100})=(?P<value>['\"].*['\"])\Z")
SECTIONS = ("global", "install", ":env:")
_TIMEOUT_SECONDS = 60
_SYSTEM = {"UV_SYSTEM_CERTS": "1", "UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1"}


def uv_environment(listing: str | None) -> dict[str, str]:
    """The environment of uv for an output of `pip config list`; None: without a network, where only arguments matter."""
    if listing is None:
        return dict(_SYSTEM)
    settings = pip_settings(listing)
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
    return {**_SYSTEM, **{name: value for name, value in wanted.items() if value}}


def pip_settings(listing: str) -> dict[str, list[str]]:
    """Settings of `pip install` from the output of `pip config list`; a setting with several values is a list of words."""
    found = [match for match in map(LINE.match, listing.splitlines()) if match]
    ordered = sorted(found, key=lambda match: SECTIONS.index(match["section"]))
    return {match["key"]: str(ast.literal_eval(match["value"])).split() for match in ordered}


class PipConfig:
    """`pip config list`, begun at once and read when it is needed: pip takes half a second to start."""

    def __init__(self, python: Path) -> None:
        argv = (str(python), "-m", "pip", "config", "list")
        environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        self._process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )

    def read(self) -> str:
        """Its output. Raises Problem."""
        try:
            out, err = self._process.communicate(timeout=_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise Problem(f"pip on the host gave no answer in {_TIMEOUT_SECONDS} s when asked for its index") from None
        if self._process.returncode != 0:
            raise Problem("pip on the host can't tell its index (pip config list)", tuple(err.splitlines()))
        return out
