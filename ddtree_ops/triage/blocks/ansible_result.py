"""What an Ansible task's result says, as lines `key: text`: JSON and YAML are decoded before anything is matched.

Forms: the default callback's `=> {json}` in one line or indented, `callback_result_format=yaml`, the yaml callback of
community.general, `ansible -m`, and ansible-runner's events (ansible-core 2.9 to 2.20, ansible-runner 2).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import yaml

#: Told in this order; of the others only these matter to a reader.
_KEYS = ("msg", "reason", "module_stderr", "module_stdout", "stderr", "exception", "stdout", "censored", "cmd", "rc")
_TEXT_LIMIT = 256 * 1024
_LINES_LIMIT = 200
_ITEMS_LIMIT = 20
_YAML_LIMIT = 64 * 1024
_NOTHING = ("", "(traceback unavailable)")


def result_lines(text: str) -> tuple[str, ...]:
    """The lines of a result as Ansible printed it behind `=>`; what can't be decoded is given as it stands."""
    value = _decode(text[:_TEXT_LIMIT])
    if isinstance(value, Mapping):
        return tuple(_lines(value))[:_LINES_LIMIT]
    return tuple(f"msg: {line.strip()}"[:2000] for line in text.splitlines() if line.strip())[:_LINES_LIMIT]


def event_lines(text: str) -> tuple[str, tuple[str, ...]] | None:
    """Host and result of an event of ansible-runner that tells a failure; None if it is none, or the play ignores it."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    data = value.get("event_data") if isinstance(value, dict) else None
    if not isinstance(data, dict) or data.get("ignore_errors") is True or not isinstance(data.get("res"), dict):
        return None
    return str(data.get("host", "")), tuple(_lines(data["res"]))[:_LINES_LIMIT]


def _decode(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if text.lstrip().startswith("{") or len(text) > _YAML_LIMIT:
        return None
    head, _, rest = text.partition("\n")
    try:  # `changed=true rc=1` stands on the first line of the yaml callback
        return yaml.load(rest if "=" in head or not head.strip() else text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def _lines(result: Mapping[object, object], depth: int = 0) -> Iterator[str]:
    for key in _KEYS:
        value = result.get(key)
        for line in _text(value).splitlines() if value is not None else ():
            if line.strip() and line.strip() not in _NOTHING:
                yield f"{key}: {line.rstrip()}"[:2000]
    if depth == 0:
        for item in _inner(result):
            yield from _lines(item, 1)


def _inner(result: Mapping[object, object]) -> list[Mapping[object, object]]:
    """The failed items of a loop, and the modules that gather facts."""
    items, modules = result.get("results"), result.get("failed_modules")
    found = [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []
    found = [item for item in found if item.get("failed") or item.get("unreachable")]
    found += [item for item in modules.values() if isinstance(item, Mapping)] if isinstance(modules, Mapping) else []
    return found[:_ITEMS_LIMIT]


def _text(value: object) -> str:
    if isinstance(value, list):
        return " ".join(str(item) for item in value[:100]) if all(isinstance(item, str) for item in value[:100]) else ""
    return str(value) if isinstance(value, (str, int, float)) else ""
