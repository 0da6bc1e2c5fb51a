"""Names and values of SGLang's server arguments (sglang 0.5.13.post1, server_args.py), and how they become argv words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from ddtree_ops.fleet.profile import Value

# Arguments that ddtree-ops sets itself, and where their value belongs.
OWNED = {
    "model-path": "ddtree_serving.model.path",
    "host": "ddtree_serving.listen",
    "port": "ddtree_serving.port",
    "speculative-algorithm": "ddtree_serving.draft_model and ddtree_serving.ddtree, which decide it",
    "speculative-draft-model-path": "ddtree_serving.draft_model.path",
    "speculative-dflash-block-size": "ddtree_serving.ddtree.block_size",
    "speculative-num-draft-tokens": "ddtree_serving.ddtree.block_size and .budget, which decide it",
    "speculative-num-steps": "nothing: DFLASH and DDTREE fix it",
    "speculative-eagle-topk": "nothing: DFLASH and DDTREE fix it",
    "speculative-ddtree-budget": "ddtree_serving.ddtree.budget",
    "speculative-ddtree-topk-cap": "ddtree_serving.ddtree.topk_cap",
    "speculative-ddtree-budget-schedule": "ddtree_serving.ddtree.budget_schedule",
}
_ALIASES = {
    "model": "model-path",
    "tensor-parallel-size": "tp-size",
    "tp": "tp-size",
    "pipeline-parallel-size": "pp-size",
    "data-parallel-size": "dp-size",
    "expert-parallel-size": "ep-size",
    "ep": "ep-size",
    "speculative-algo": "speculative-algorithm",
    "speculative-draft-model": "speculative-draft-model-path",
}
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def canonical(name: str) -> str:
    """The one spelling of an argument: hyphens, no leading dashes, no alias."""
    hyphens = name.strip().lstrip("-").replace("_", "-")
    return _ALIASES.get(hyphens, hyphens)


def is_name(name: str) -> bool:
    """Whether this can be an argument's name (after `canonical`)."""
    return _NAME.fullmatch(name) is not None


def value_problem(value: object) -> str | None:
    """Why this can't be the value of an argument, or None."""
    if isinstance(value, list | tuple):
        return next((problem for item in value if (problem := _item_problem(item))), None)
    if isinstance(value, Mapping):
        return _json_problem(value)
    if value is None or isinstance(value, bool | int | float):
        return None
    return _text_problem(value)


def _item_problem(item: object) -> str | None:
    if isinstance(item, bool) or not isinstance(item, int | float | str):
        return "the items of a list must be text or numbers"
    if isinstance(item, str) and item.startswith("-"):
        return "an item of a list can't start with '-': SGLang would take it for an argument"
    return _text_problem(item) if isinstance(item, str) else None


def _json_problem(value: object) -> str | None:
    if isinstance(value, Mapping):
        problems = [_json_problem(item) if isinstance(key, str) else "keys of JSON are text" for key, item in value.items()]
    elif isinstance(value, list | tuple):
        problems = [_json_problem(item) for item in value]
    else:
        allowed = value is None or isinstance(value, bool | int | float | str)
        problems = [None if allowed else "can't be written as JSON; put it in quotes"]
    return next((problem for problem in problems if problem), None)


def _text_problem(value: object) -> str | None:
    if not isinstance(value, str):
        return "expected text, a number, true/false, a list or a mapping; put it in quotes"
    if any(ord(character) < 32 or ord(character) == 127 for character in value):
        return "contains a line break or another control character"
    return None


def words(name: str, value: Value) -> Iterator[str]:
    """The argv words of one argument; none for false and null.

    `True` is a bare flag, a list gives several words, a mapping becomes JSON. Text that starts with a dash is joined by `=`
    so that argparse can't mistake it for another argument.
    """
    flag = f"--{name}"
    if value is None or value is False:
        return
    yield from _flagged(flag, value)


def _flagged(flag: str, value: Value) -> tuple[str, ...]:
    if value is True:
        return (flag,)
    if isinstance(value, Mapping):
        return (flag, json.dumps(value, sort_keys=True))
    if isinstance(value, list | tuple):
        return (flag, *map(str, value)) if value else ()
    text = str(value)
    return (f"{flag}={text}",) if text.startswith("-") and isinstance(value, str) else (flag, text)
