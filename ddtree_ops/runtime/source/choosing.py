"""Which files belong to the source that is asked about, by their names in a tree."""

from __future__ import annotations

import configparser
import re

SERVING = ("sglang", "vllm", "sglang_ddtree")
#: Groups of entry points by which a distribution plugs into a server (sglang 0.5.13.post1 and vllm 0.22.1, their plugin loaders).
PLUGIN_GROUPS = ("sglang.srt.plugins", "vllm.general_plugins", "vllm.platform_plugins")
#: Not part of the server: tests, and a server of its own with a class ServerArgs of its own.
LEFT_OUT = ("sglang/test/", "sglang/multimodal_gen/", "sglang/benchmark/", "sglang/eval/", "vllm/vllm_flash_attn/")
#: Names of folders that hold no source of the server, wherever they stand.
SKIPPED = frozenset(
    {"test", "tests", "benchmark", "third_party", "node_modules", "__pycache__", "site-packages", "build", "dist"}
)
_VERSION = re.compile(
    rb"^(?:__version__\s*=\s*version|__version__|version)\s*(?::\s*str\s*)?=\s*['\"]([\w.+!-]{1,60})['\"]", re.M
)


def is_source(name: str) -> bool:
    """Whether a file's name in the tree is that of source to read."""
    return name.endswith(".py") and not name.startswith(LEFT_OUT)


def enters(folder: str) -> bool:
    """Whether a folder of that (last) name is looked into."""
    return not (folder.startswith(".") or folder in SKIPPED)


def plugin_package(entry_points: str) -> set[str]:
    """Top-level packages that the text of an entry_points.txt plugs into a server; none if it isn't readable."""
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(entry_points)
    except configparser.Error:
        return set()
    values = [value for group in PLUGIN_GROUPS if parser.has_section(group) for value in parser[group].values()]
    return {package for value in values if (package := re.split(r"[.:\s]", value.strip(), maxsplit=1)[0]).isidentifier()}


def version_in(content: bytes) -> str | None:
    """What a version.py or _version.py says."""
    found = _VERSION.search(content[:20_000])
    return found[1].decode() if found else None


def of_metadata(name: str) -> tuple[str, str] | None:
    """Package and version of a `sglang-0.5.13.post1.dist-info`."""
    found = re.fullmatch(r"([A-Za-z0-9_.]+)-([\w.+!]+)\.dist-info", name)
    return (found[1].lower(), found[2]) if found else None
