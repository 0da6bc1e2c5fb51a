"""Findings on GPU memory: whether weights, draft, KV pool and graphs fit, with the arithmetic as evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ddtree_ops.fleet.finding import Finding, Severity
from ddtree_ops.fleet.launch_words import LaunchWords
from ddtree_ops.fleet.release import Release
from ddtree_ops.runtime.memory import Estimate, Measured, MemorySettings, Model, ModelShape, estimate
from ddtree_ops.units.eta import Boot, Outcome

_FRACTION = "ddtree_serving.server_args.mem-fraction-static"
_CONTEXT = "ddtree_serving.server_args.context-length"
_DEFAULT_CHUNK = 8192
_KV_BYTES = {"fp8_e4m3": 1.0, "fp8_e5m2": 1.0, "bf16": 2.0, "bfloat16": 2.0, "auto": 2.0}


def memory_findings(
    release: Release, words: LaunchWords, target: Model | None, draft: Model | None, boots: Sequence[Boot], gpu_mib: int | None
) -> Iterator[Finding]:
    """Judge the estimate. What it lacks is a note."""
    settings = settings_of(release, words, target.shape if target else None, gpu_mib)
    if settings is None:
        yield _unknown("--mem-fraction-static isn't set", f"set {_FRACTION}")
    elif target is None or (draft is None and release.spec.draft_model is not None):
        yield _unknown(
            "the host's models weren't seen", "put the models where the spec says; their config.json and sizes are read"
        )
    elif (found := estimate(target, draft, settings, measured(boots))) is None:
        yield _unknown(
            "the target's config.json doesn't tell the size of its KV cache", "none; a start will show whether it fits"
        )
    else:
        yield from _judge(found, settings)


def settings_of(release: Release, words: LaunchWords, target: ModelShape | None, gpu_mib: int | None) -> MemorySettings | None:
    """The numbers of an estimate; None without a memory fraction: SGLang's own rule for it changes from version to version."""
    fraction = words.fraction("--mem-fraction-static")
    if fraction is None:
        return None
    tree = release.spec.ddtree
    block = words.number("--speculative-dflash-block-size") or (8 if release.spec.draft_model else 1)
    graphs = 0 if words.text("--disable-cuda-graph") is not None else words.number("--cuda-graph-max-bs")
    backend = words.text("--decode-attention-backend") or words.text("--attention-backend")
    return MemorySettings(
        gpu_gib=(gpu_mib or release.hardware.memory_mib) / 1024,
        fraction=fraction,
        ranks=words.number("--tp-size") or 1,
        pipeline=words.number("--pp-size") or 1,
        context=words.number("--context-length") or (target.max_context if target else None),
        concurrency=words.number("--max-running-requests"),
        graph_batch=graphs or 0,
        verify_width=tree.budget + 1 if tree else block,
        block=block,
        chunk=words.number("--chunked-prefill-size") or _DEFAULT_CHUNK,
        kv_bytes=_KV_BYTES.get(words.text("--kv-cache-dtype") or "auto", 2.0),
        page=words.number("--page-size") or 1,
        max_tokens=words.number("--max-total-tokens"),
        triton=backend == "triton",
    )


def measured(boots: Sequence[Boot]) -> Measured | None:
    """The figures of the newest boot that became ready and has some."""
    for boot in reversed(boots):
        if boot.outcome is Outcome.READY and boot.memory:
            return Measured(boot.release, boot.memory)
    return None


def _judge(found: Estimate, settings: MemorySettings) -> Iterator[Finding]:
    lines = tuple(str(line) for line in found.lines)
    if found.tokens <= 0:
        yield _too_much(found, settings, lines)
        return
    basis = f"as release {found.calibrated} measured here" if found.calibrated else "estimated; no such boot was measured here"
    if settings.context and found.tokens < settings.context:
        text = f"the KV pool holds {found.tokens} tokens ({basis}), less than one request of the context of {settings.context}"
        fix = f"{_CONTEXT}: at most {found.tokens}, or a smaller KV cache (kv-cache-dtype: fp8_e4m3)"
        yield Finding("memory_pool_small", Severity.WARNING, text, fix, lines)
    else:
        text = f"the KV pool holds {found.tokens} tokens of {found.per_token} bytes ({basis}){_requests(found, settings)}"
        yield Finding("memory_estimate", Severity.NOTE, text, "nothing", lines)
    if found.rest_gib < 0:
        text = f"{-found.rest_gib:.1f} GiB are lacking for draft, graphs and activations beside the KV pool ({basis})"
        fix = f"a lower {_FRACTION}, chunked-prefill-size or cuda-graph-max-bs"
        yield Finding("memory_tight", Severity.WARNING, text, fix, lines)


def _requests(found: Estimate, settings: MemorySettings) -> str:
    """Most servers promise more than their pool holds, since few requests have the whole context: worth knowing, no more."""
    if not settings.context or not found.wanted or found.tokens >= found.wanted:
        return ""
    whole = f"{found.tokens // settings.context} requests of the whole context of {settings.context}"
    return f": {whole}, not {settings.concurrency}; the rest waits or is retracted"


def _too_much(found: Estimate, settings: MemorySettings, lines: tuple[str, ...]) -> Finding:
    least = found.weights_gib / found.free_gib if found.free_gib > 0 else 2.0
    text = (
        f"the weights take {found.weights_gib:.1f} GiB of each GPU, above {settings.fraction} of its {found.free_gib:.1f} GiB:"
        " nothing is left for the KV cache, and SGLang would end after the load with 'Not enough memory'"
    )
    more = f"{_FRACTION}: more than {least + 0.01:.2f}, or " if least < 0.9 else ""
    return Finding("memory_does_not_fit", Severity.ERROR, text, f"{more}more GPUs (tp-size), or smaller weights", lines)


def _unknown(why: str, fix: str) -> Finding:
    return Finding("memory_unknown", Severity.NOTE, f"whether the model fits isn't known: {why}", fix)
