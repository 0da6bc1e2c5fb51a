"""Entry point of the group `sglang.srt.plugins`. SGLang loads it in every process, before it parses arguments.

An ordinary exception would only be logged and the server would start without DDTREE; so whatever goes wrong here ends the
process.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from ..ddtree.fingerprints import Mismatch, identify
from ..ddtree.refusals import Refusal, Refused, refuse

FIX = "install the release that deploy/locks names, or remove this plugin"


def load() -> None:
    """Check SGLang's files, add the flags, register the algorithm. Raises Refused (status 78)."""
    check_sglang(sglang_folder())
    try:
        from .algorithm import register
        from .arguments import install_flags

        install_flags()
        register()
    except Refused:
        raise
    except Exception as error:  # noqa: BLE001 - see above
        refuse(Refusal(f"DDTREE couldn't be registered: {type(error).__name__}: {error}", FIX))


def check_sglang(folder: Path | None) -> None:
    """End the process unless a known SGLang lies there."""
    if folder is None:
        refuse(Refusal("there is no SGLang to load DDTREE into", FIX))
    found = identify(folder)
    if isinstance(found, Mismatch):
        refuse(Refusal(f"SGLang in {folder} is {found}", FIX))


def sglang_folder() -> Path | None:
    """The folder of the package `sglang`, without importing it."""
    spec = importlib.util.find_spec("sglang")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))
