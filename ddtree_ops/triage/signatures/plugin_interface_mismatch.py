"""A plugin (or a patch) and the SGLang that it is loaded into don't fit: what one calls, the other hasn't got.

SGLang 0.5.13.post1 only logs a plugin that raises and starts without it (srt/plugins/__init__.py), and lends a registered
algorithm a class, `CustomSpecAlgo`, that lacks what the scheduler calls.
"""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature, passes_through

_LOADING = frozenset({"load_plugins", "load_plugins_by_group", "apply_hooks", "register_algorithm"})
_ALGORITHM = re.compile(r"'(?P<owner>\w{1,100})' object has no attribute '(?P<name>\w{1,100})'")
_ASKED = re.compile(r"spec_algo(?:rithm)?\b|speculative_algorithm\b|SpeculativeAlgorithm\b")
_CALL = re.compile(
    r"(?<!\w)(?P<owner>\w{1,100})\.(?P<name>\w{1,100})\(\) (?P<how>takes .{1,60} given"
    r"|got an unexpected keyword argument '\w{1,100}'|missing \d{1,3} required .{1,20} arguments?: .{1,200})"
)
_PLUGIN_FILES = ("/sglang_ddtree/", "plugin")
_ARGS = re.compile(
    r"'(?:ServerArgs|PortArgs|ScheduleBatch|ForwardBatch|ModelRunner)' object has no attribute '(?P<name>\w{1,100})'"
)
# speculative/spec_registry.py
_REGISTRY = re.compile(
    r"'(?P<reserved>\w{1,60})' is a reserved speculative algorithm name|Speculative algorithm '(?P<twice>\w{1,60})' already"
    r" registered"
    r"|argument (?P<flag>--[\w-]{1,100})\S{0,200}: conflicting option string"
)
_INCOMPLETE = re.compile(
    r"(?P<owner>\w{1,100}) is missing duck-typed methods from SpeculativeAlgorithm: (?P<missing>\[[^\]]{1,300}\])"
)
_ANNOUNCED = re.compile(
    r"Failed to (?:load|execute general) plugin:? (?P<name>[\w.-]{1,100})|Failed to apply hooks to (?P<target>[\w.]{1,200})"
)
_NOT_SGLANG = re.compile(r"^No module named '(?!sglang)|\.so[.\d]*: |undefined symbol")


def match(context: Context) -> Finding | None:
    """An attribute that the algorithm's class lacks, a refusal of the registry, or anything raised while plugins are loaded."""
    found = context.near("duck-typed", _INCOMPLETE)
    if found:
        return _finding(f"SGLang's registry refuses {found[1]['owner']}: it lacks {found[1]['missing']}.", Confidence.CERTAIN)
    found = context.first(_REGISTRY)
    if found:
        return _by_registry(found[1])
    found = context.first(_ALGORITHM)
    if found and _asked_of_algorithm(context, found[1]["owner"]):
        owner, name = found[1]["owner"], found[1]["name"]
        return _finding(
            f"SGLang calls {name}() of the speculative algorithm, but its class {owner} hasn't got it.", Confidence.CERTAIN
        )
    found = context.first(_CALL)
    if found and found[0].type == "TypeError" and _between(context, found[1]["owner"]):
        owner, name, how = found[1]["owner"], found[1]["name"], found[1]["how"]
        return _finding(f"{owner}.{name}() {how}: plugin and SGLang have another idea of this call.", Confidence.LIKELY)
    found = context.first(_ARGS)
    if found:
        return _finding(
            f"Some code expects SGLang's {found[0].message.split(chr(39))[1]} to have {found[1]['name']}: it is made for"
            " another version or a patched one.",
            Confidence.LIKELY,
        )
    if passes_through(context.all_frames, functions=_LOADING) and passes_through(context.all_frames, file="/sglang/srt/"):
        return _while_loading(context)
    return None


def _asked_of_algorithm(context: Context, owner: str) -> bool:
    raising = context.frames[-1] if context.frames else None
    return owner == "CustomSpecAlgo" or (raising is not None and bool(_ASKED.search(raising.code or "")))


def _between(context: Context, owner: str) -> bool:
    """Whether SGLang calls a plugin there, or a plugin SGLang."""
    frames = context.all_frames
    plugin = any(passes_through(frames, file=file) for file in _PLUGIN_FILES) or "Algo" in owner
    return plugin and (passes_through(frames, file="/sglang/srt/") or _asked_of_algorithm(context, owner))


def _by_registry(found: re.Match[str]) -> Finding:
    if found["flag"]:
        return _finding(f"{found['flag']} is added to SGLang's arguments, which have it already.", Confidence.CERTAIN)
    name = found["reserved"] or found["twice"]
    why = "this SGLang has an algorithm of that name itself" if found["reserved"] else "it is registered already"
    return _finding(f"SGLang's registry refuses the algorithm {name}: {why}.", Confidence.CERTAIN)


def _while_loading(context: Context) -> Finding | None:
    ending = context.ending
    if _NOT_SGLANG.search(ending.message):
        return None
    named = next((hit for line in reversed(context.before[-3:]) if (hit := _ANNOUNCED.search(line.text))), None)
    which = f" {named['name'] or named['target']}" if named else ""
    said = " ".join(f"{ending.type}: {ending.message}".split())[:300]
    return _finding(f"The plugin{which} couldn't be loaded ({said}); SGLang goes on without it.", Confidence.CERTAIN)


def _finding(cause: str, confidence: Confidence) -> Finding:
    fixes = (
        "Deploy the plugin release that is made for this SGLang: both stand in one hash lock.",
        "If a server starts without its plugin, its own arguments (--speculative-algorithm) are refused or ignored: mend the"
        " plugin first.",
    )
    return Finding(Kind.PLUGIN_INTERFACE_MISMATCH, "Plugin and SGLang don't fit", cause, fixes, confidence)


SIGNATURE = Signature(match, literals=("Failed to load plugin", "Failed to execute general plugin", "Failed to apply hooks"))
