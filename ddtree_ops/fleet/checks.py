"""Rules between fields of a serving spec. None of them needs the host; each says what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ddtree_ops.fleet.gate_section import Inconclusive
from ddtree_ops.fleet.nodes import Entry, VaultNode
from ddtree_ops.fleet.profile import HardwareProfile, Refusal
from ddtree_ops.fleet.sections import Source
from ddtree_ops.fleet.spec import ServingSpec, is_loopback
from ddtree_ops.fleet.tree_masks import BACKEND_ARGUMENTS, tree_mask_problem

Loc = tuple[str | int, ...]
Complaint = tuple[Loc, str]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What else a spec is judged by. `unreadable_files`: the host has whole files encrypted by ansible-vault."""

    hardware: HardwareProfile | None
    variables: Mapping[str, Entry]
    unreadable_files: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """`reads` are the fields it looks at: if one of them is wrong by itself, the check says nothing."""

    reads: tuple[Loc, ...]
    complaints: Callable[[ServingSpec, Surroundings], Iterator[Complaint]]


def _tree_needs_draft(spec: ServingSpec, _: Surroundings) -> Iterator[Complaint]:
    if spec.ddtree is not None and spec.draft_model is None:
        yield ("ddtree",), "needs ddtree_serving.draft_model: the tree is built from the DFlash draft's output"


def _draft_is_another_model(spec: ServingSpec, _: Surroundings) -> Iterator[Complaint]:
    if spec.draft_model is not None and spec.draft_model.path == spec.model.path:
        yield ("draft_model", "path"), "is the target model itself; expected the directory of the DFlash draft"


def _budget_holds_block(spec: ServingSpec, _: Surroundings) -> Iterator[Complaint]:
    if spec.ddtree is not None and spec.ddtree.budget + 1 < spec.ddtree.block_size:
        least = spec.ddtree.block_size - 1
        yield (
            ("ddtree", "budget"),
            (f"{spec.ddtree.budget} can't hold the chain of a block of {spec.ddtree.block_size}; expected at least {least}"),
        )


def _cap_within_budget(spec: ServingSpec, _: Surroundings) -> Iterator[Complaint]:
    if spec.ddtree is not None and (spec.ddtree.topk_cap or 0) > spec.ddtree.budget:
        yield ("ddtree", "topk_cap"), f"{spec.ddtree.topk_cap} is more than the budget of {spec.ddtree.budget}"


def _schedule(spec: ServingSpec, _: Surroundings) -> Iterator[Complaint]:
    if spec.ddtree is None or spec.ddtree.budget_schedule is None:
        return
    before = 0
    least = spec.ddtree.block_size - 1
    for batch, budget in spec.ddtree.budget_schedule.items():
        loc = ("ddtree", "budget_schedule", batch)
        if batch <= before:
            yield loc, f"batch sizes must increase, but {batch} follows {before}"
        if budget > spec.ddtree.budget:
            yield loc, f"{budget} is more than the budget of {spec.ddtree.budget}, for which graphs are captured"
        if budget < least:
            yield (
                loc,
                f"{budget} can't hold the chain of a block of {spec.ddtree.block_size}; expected at least {least}",
            )
        before = max(before, batch)


def _tree_page_size(spec: ServingSpec, _: Surroundings) -> Iterator[Complaint]:
    if spec.ddtree is None or "page-size" not in spec.server_args:
        return
    size = spec.server_args["page-size"]
    if size is True or size != 1:
        yield ("server_args", "page-size"), "must be 1 with ddtree: accepted tree nodes are kept by remapping single slots"


def _tree_mask(spec: ServingSpec, _: Surroundings) -> Iterator[Complaint]:
    for name in BACKEND_ARGUMENTS if spec.ddtree is not None else ():
        backend = spec.server_args.get(name)
        problem = tree_mask_problem(str(backend))
        if problem:
            yield ("server_args", name), f"{backend} {problem}, so ddtree would verify wrongly; use triton"
    if spec.ddtree is not None and spec.server_args.get("attention-backend", "") in (None, False):
        text = "can't be left to SGLang with ddtree: its own choice may ignore the tree mask; use triton"
        yield ("server_args", "attention-backend"), text


def _wide_listen_needs_key(spec: ServingSpec, _: Surroundings) -> Iterator[Complaint]:
    if not is_loopback(spec.listen) and "api_key" not in spec.secrets:
        yield (
            ("listen",),
            (
                f"{spec.listen} can be reached from other machines; that needs ddtree_serving.secrets.api_key, "
                "for example {env: DDTREE_API_KEY}"
            ),
        )


def _gate_needs_metrics(spec: ServingSpec, _: Surroundings) -> Iterator[Complaint]:
    gated = spec.ddtree is not None and spec.gate.enabled and spec.gate.inconclusive is Inconclusive.FAIL
    if gated and spec.server_args.get("enable-metrics", True) in (None, False):
        text = "the gate reads the tree's counters from /metrics; leave metrics on, or set ddtree_serving.gate.enabled: false"
        yield ("server_args", "enable-metrics"), text


def _wheelhouse(spec: ServingSpec, _: Surroundings) -> Iterator[Complaint]:
    if spec.runtime.source is Source.WHEELHOUSE and spec.runtime.wheelhouse is None:
        yield ("runtime", "source"), "wheelhouse needs ddtree_serving.runtime.wheelhouse, a directory on the controller"
    if spec.runtime.source is Source.INDEX and spec.runtime.wheelhouse is not None:
        yield ("runtime", "wheelhouse"), "is only used with source: wheelhouse"


def _stall_within_budget(spec: ServingSpec, _: Surroundings) -> Iterator[Complaint]:
    if spec.stall_after > spec.load_budget:
        yield ("stall_after",), f"{spec.stall_after}s is longer than the load_budget of {spec.load_budget}s"


def _vault_variables(spec: ServingSpec, around: Surroundings) -> Iterator[Complaint]:
    for name, secret in spec.secrets.items():
        if secret.vault is None:
            continue
        entry = around.variables.get(secret.vault)
        if entry is None and not around.unreadable_files:
            yield ("secrets", name, "vault"), f"the host has no variable '{secret.vault}'"
        elif entry is not None and not isinstance(entry.value, VaultNode):
            yield ("secrets", name, "vault"), f"'{secret.vault}' isn't encrypted (at {entry.place}); use ansible-vault"


def _gpus(spec: ServingSpec, around: Surroundings) -> Iterator[Complaint]:
    hardware = around.hardware
    if hardware is None:
        return
    sizes = [spec.server_args.get(name, 1) for name in ("tp-size", "pp-size")]
    ranks = [size for size in sizes if isinstance(size, int) and not isinstance(size, bool)]
    if len(ranks) == 2 and ranks[0] * ranks[1] > hardware.gpu_count:
        yield (
            ("server_args", "tp-size"),
            (f"{ranks[0] * ranks[1]} ranks don't fit on the {hardware.gpu_count} GPUs of {hardware.name}"),
        )


# SGLang 0.5.13.post1 takes these words and fails later, or means something else by them.
_LEAST: Mapping[str, int] = {
    "tp-size": 1,
    "pp-size": 1,
    "dp-size": 1,
    "context-length": 1,
    "max-running-requests": 1,
    "cuda-graph-max-bs": 1,
    "max-total-tokens": 1,
    "page-size": 1,
}


def _numbers(spec: ServingSpec, _: Surroundings) -> Iterator[Complaint]:
    for name, least in _LEAST.items():
        value = spec.server_args.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and value < least:
            yield ("server_args", name), f"must be {least} or more, got {value}"
    fraction = spec.server_args.get("mem-fraction-static")
    if isinstance(fraction, int | float) and not isinstance(fraction, bool) and not 0 < fraction < 1:
        yield (
            ("server_args", "mem-fraction-static"),
            f"is a share of GPU memory, more than 0 and less than 1; got {fraction}",
        )


def _hardware_refusals(spec: ServingSpec, around: Surroundings) -> Iterator[Complaint]:
    if around.hardware is not None:
        yield from _refused(spec, "server_args", spec.server_args, around.hardware.argument_refusals, around.hardware)
        yield from _refused(spec, "environment", spec.environment, around.hardware.environment_refusals, around.hardware)


def _refused(
    spec: ServingSpec,
    section: str,
    given: Mapping[str, object],
    refusals: tuple[Refusal, ...],
    hardware: HardwareProfile,
) -> Iterator[Complaint]:
    for refusal in refusals:
        value = given.get(refusal.name)
        if refusal.refuses(value, spec.speculation):
            what = "" if value is True else f"{value}: "
            yield (section, refusal.name), f"{what}refused on {hardware.name}: {refusal.reason} ({refusal.source})"


CHECKS = (
    Check((("ddtree",), ("draft_model",)), _tree_needs_draft),
    Check((("model",), ("draft_model",)), _draft_is_another_model),
    Check((("ddtree", "budget"), ("ddtree", "block_size")), _budget_holds_block),
    Check((("ddtree", "budget"), ("ddtree", "topk_cap")), _cap_within_budget),
    Check((("ddtree",),), _schedule),
    Check((("server_args", "page-size"),), _tree_page_size),
    Check((("server_args",),), _tree_mask),
    Check((("listen",), ("secrets",)), _wide_listen_needs_key),
    Check((("runtime", "source"), ("runtime", "wheelhouse")), _wheelhouse),
    Check((("gate",), ("ddtree",), ("server_args",)), _gate_needs_metrics),
    Check((("stall_after",), ("load_budget",)), _stall_within_budget),
    Check((("secrets",),), _vault_variables),
    Check((("server_args", "tp-size"), ("server_args", "pp-size")), _gpus),
    Check((("server_args",),), _numbers),
    Check((), _hardware_refusals),
)
