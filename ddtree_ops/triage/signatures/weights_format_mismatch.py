"""The checkpoint's tensors aren't those that the model, as configured, has room for."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature
from ddtree_ops.triage.signatures.weight_loading import loads_weights, writes_parameter

# A tensor that the model has no parameter for (SGLang and vLLM look it up in a dict), or the checkpoint lacks (safetensors)
_KEY = re.compile(r"^'(?P<name>[\w.]{1,200}\.[\w.]{1,200})'$")
# vLLM's AutoWeightsLoader, models/utils.py
_NO_PLACE = re.compile(r"There is no module or parameter named '(?P<name>[\w.]{1,200})' in (?P<model>\w{1,100})")
_LACKS = re.compile(
    r"File does not contain tensor (?P<name>\S{1,200})|(?:weights|parameters) (?:were|are) not initialized from (?:the"
    r" )?checkpoints?"
)
# SGLang 0.5.13.post1: model_loader/weight_utils.py, layers/{linear,parameter,vocab_parallel_embedding}.py; torch:
# nn.Module.load_state_dict
_SHAPES = re.compile(
    r"Attempted to load weight \((?P<from>[^)]{1,80}\)?)\) into parameter \((?P<into>[^)]{1,80}\)?)\)"
    r"|(?:param_data|target|param)\.shape ?!?=.{1,200}loaded_weight\.shape"
    r"|org_vocab_size=.{1,200}loaded_weight\.shape"
    r"|size mismatch for (?P<param>[\w.]{1,200}): copying a param with shape (?P<from2>.{1,80}) from checkpoint"
    r"|start \(\d+\) \+ length \(\d+\) exceeds dimension size|The size of tensor a|expanded size of the tensor|shape mismatch"
    r"|mismatch in shape"
)
# configs/model_config.py, layers/quantization/__init__.py, models/registry.py
_METHOD = re.compile(
    r"Quantization method specified in the model config \((?P<has>[^)]{1,60})\) does not match the quantization method"
    r" specified in"
    r" the `?quantization`? argument \((?P<given>[^)]{1,60})\)"
)
_UNKNOWN_METHOD = re.compile(
    r"(?:Invalid|Unknown) quantization method: (?P<name>[\w.-]{1,60})|Cannot find the config file for (?P<file>[\w.-]{1,60})"
)
_ARCHITECTURE = re.compile(
    r"(?:^|\n)(?:Model architectures (?P<name>\[[^\]]{1,200}\]) are not supported for now"
    r"|(?P<arch>[\w'\"]{1,100}) has no (?:SGlang|vLLM) implementation)"
)
_UNKNOWN_TENSOR = "A tensor of the checkpoint is unknown to the model"
_OTHER = (
    "Check that --model-path, --revision and the checkpoint belong together; config.json may be of another revision than"
    " the weights."
)
_QUANTIZED = (
    "Leave --quantization unset (the checkpoint's own config.json names its format), or take a checkpoint of that format."
)


def match(context: Context) -> Finding | None:
    """A name or a shape that doesn't fit while weights are loaded, or a format that isn't known or isn't what was asked for."""
    found = context.first(_METHOD)
    if found:
        cause = f"The checkpoint is quantized as {found[1]['has']}, but --quantization asks for {found[1]['given']}."
        return _finding("Quantization isn't the checkpoint's", cause, (_QUANTIZED,), Confidence.CERTAIN)
    found = context.first(_UNKNOWN_METHOD)
    if found:
        cause = (
            f"This server knows no quantization {found[1]['name'] or found[1]['file']}, which the checkpoint or"
            " --quantization names."
        )
        return _finding("Unknown quantization", cause, (_QUANTIZED, "Deploy an SGLang that has it."), Confidence.CERTAIN)
    found = context.first(_ARCHITECTURE)
    if found:
        name = found[1]["name"] or found[1]["arch"]
        cause = f"This server has no implementation of the checkpoint's architecture {name}."
        return _finding("Unknown model architecture", cause, ("Deploy an SGLang that has it.", _OTHER), Confidence.CERTAIN)
    found = context.first(_NO_PLACE)
    if found:
        cause = f"The checkpoint has tensors below {found[1]['name']}, for which {found[1]['model']} has no place."
        return _finding(
            _UNKNOWN_TENSOR,
            cause,
            (*_for_name(found[1]["name"]), _OTHER),
            Confidence.CERTAIN,
        )
    return _while_loading(context) if loads_weights(context) else None


def _while_loading(context: Context) -> Finding | None:
    ending = context.ending
    key = _KEY.search(ending.message[:500]) if ending.type == "KeyError" else None
    if key:
        cause = f"The checkpoint has a tensor {key['name']} that this model, as configured, has no place for."
        return _finding(_UNKNOWN_TENSOR, cause, (*_for_name(key["name"]), _OTHER), Confidence.LIKELY)
    lacks = context.first(_LACKS)
    if lacks:
        name = lacks[1]["name"] or "at least one tensor"
        return _finding(
            "The checkpoint lacks a tensor",
            f"The model needs {name}, which the checkpoint doesn't have.",
            (_OTHER,),
            Confidence.CERTAIN,
        )
    shapes = context.first(_SHAPES)
    silent = ending.type == "AssertionError" and not ending.message
    if (shapes and (writes_parameter(context) or "size mismatch for" in shapes[0].message)) or (
        silent and writes_parameter(context)
    ):
        return _shapes(context, shapes[1] if shapes else None)
    return None


def _shapes(context: Context, found: re.Match[str] | None) -> Finding:
    sizes = ""
    if found and found["from"]:
        sizes = f" ({found['from']} into {found['into']})"
    elif found and found["param"]:
        sizes = f" ({found['param']}: {found['from2']})"
    tp = context.facts.integer("tp_size")
    cause = f"A tensor of the checkpoint has another shape than the parameter it is for{sizes}."
    fixes = (
        _OTHER,
        _QUANTIZED,
        *((f"Try another --tp-size (now {tp}): a dimension may not be divisible by it.",) if tp and tp > 1 else ()),
    )
    return _finding("Checkpoint and model differ in shape", cause, fixes, Confidence.LIKELY)


def _for_name(name: str) -> tuple[str, ...]:
    quantized = ("scale", "qweight", "qzeros", "g_idx", "packed", "zero_point")
    return (
        (f"{name.rsplit('.', 1)[-1]} belongs to a quantization. {_QUANTIZED}",) if any(word in name for word in quantized) else ()
    )


def _finding(title: str, cause: str, fixes: tuple[str, ...], confidence: Confidence) -> Finding:
    return Finding(Kind.WEIGHTS_FORMAT_MISMATCH, title, cause, fixes, confidence)


SIGNATURE = Signature(match)
