"""The server computes nonsense: our launcher has asked several times and gave up, sampling met values that are none, or the
answers in the log hold nothing but `!`."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Origin
from ddtree_ops.triage.blocks.repeated import NO_WORDS
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

_WORDS = re.compile(r"/generate: (?P<what>garbage: .*)")  # sglang_ddtree/probe.py
# torch.multinomial; SGLang, srt/layers/sampler.py
_NAN = re.compile(
    r"probability tensor contains either `inf`, `nan` or element < 0|NaN (?:detected|in (?:the )?logits)|Detected errors during"
    r" sampling"
)
_FIXES = (
    "Try another --attention-backend or --moe-runner-backend (and --fp8-gemm-backend, --fp4-gemm-backend): a kernel may not fit"
    " this GPU.",
    "Clear the caches of compiled kernels after an upgrade (~/.cache/flashinfer, ~/.cache/tvm-ffi, ~/.triton/cache).",
    "Look for a quantization that this back-end doesn't support, and check the weights' sha256.",
)


def match(context: Context) -> Finding | None:
    """Sampling found NaN or infinity among the probabilities, or several answers are token 0 all over."""
    if context.block.origin is Origin.LINE and NO_WORDS.match(context.block.text):
        return _answers(context.block.times)
    return _nan() if context.first(_NAN) else None


def _nan() -> Finding:
    return Finding(
        kind=Kind.GARBAGE_OUTPUT,
        title="NaN among the probabilities",
        cause="The model's logits hold NaN or infinity: sampling can't choose a token. A kernel or the weights are at fault,"
        " not the sampler.",
        fixes=_FIXES,
        confidence=Confidence.LIKELY,
    )


def _answers(count: int) -> Finding:
    return Finding(
        kind=Kind.GARBAGE_OUTPUT,
        title="The server answers with nothing but `!`",
        cause=f"{count} answers hold nothing but `!`, which is token 0: the logits are NaN or all alike, though the server runs.",
        fixes=_FIXES,
        confidence=Confidence.LIKELY,
    )


def match_line(text: str) -> Finding | None:
    """SGLang's warning where it looks for NaN (--enable-nan-detection) and goes on."""
    return _nan() if _NAN.match(text[:400]) else None


def match_words(reason: str) -> Finding | None:
    """The launcher's last words."""
    found = _WORDS.fullmatch(reason)
    if found is None:
        return None
    return Finding(
        kind=Kind.GARBAGE_OUTPUT,
        title=f"The server answers with {found['what']}",
        cause="The model computes nonsense (NaN in the logits shows like this), though the server itself runs.",
        fixes=_FIXES,
        confidence=Confidence.LIKELY,
    )


SIGNATURE = Signature(match, match_line, match_words, literals=("Detected errors during sampling", "NaN detected"))
