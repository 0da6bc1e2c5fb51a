"""Facts of the profiles, and that each of them says where it comes from."""

from __future__ import annotations

import dataclasses
from typing import cast

import pytest

from ddtree_ops.errors import UsageError
from ddtree_ops.fleet.hardware import B300_8X, PROFILES, RTX_PRO_6000_8X, HardwareProfile, profile, source_url
from ddtree_ops.fleet.profile import Default, Interconnect, Refusal, Speculation
from ddtree_ops.fleet.server_args import OWNED, is_name
from ddtree_ops.fleet.tree_masks import tree_mask_problem

ALL = pytest.mark.parametrize("hardware", PROFILES.values(), ids=lambda one: one.name)
_UNSOURCED = {"name", "title", "sources", "server_args", "environment", "argument_refusals", "environment_refusals"}


def test_identity() -> None:
    rtx, b300 = RTX_PRO_6000_8X, B300_8X
    assert (rtx.gpu_count, rtx.compute_cap, rtx.memory_mib, rtx.interconnect) == (8, "12.0", 97887, Interconnect.PCIE)
    assert (b300.gpu_count, b300.compute_cap, b300.memory_mib, b300.interconnect) == (8, "10.3", 275040, Interconnect.NVLINK)
    assert rtx.gpu_names == ("NVIDIA RTX PRO 6000 Blackwell Server Edition",)
    assert b300.gpu_names == ("NVIDIA B300 SXM6 AC",)


@ALL
def test_every_fact_has_a_source(hardware: HardwareProfile) -> None:
    facts = {field.name for field in dataclasses.fields(hardware)} - _UNSOURCED
    assert facts == set(hardware.sources)
    defaults = (*hardware.server_args, *hardware.environment)
    refusals = (*hardware.argument_refusals, *hardware.environment_refusals)
    for one in cast("tuple[Default | Refusal, ...]", defaults + refusals):
        assert one.reason
        assert source_url(one.source) or one.source in ("measured", "inferred") or one.source.startswith("sglang 0."), one


@ALL
@pytest.mark.parametrize("speculation", Speculation)
def test_defaults_are_unique_and_not_refused(hardware: HardwareProfile, speculation: Speculation) -> None:
    for defaults, refusals in (
        (hardware.server_args, hardware.argument_refusals),
        (hardware.environment, hardware.environment_refusals),
    ):
        chosen = [one for one in defaults if speculation in one.when.value]
        assert len({one.name for one in chosen}) == len(chosen)
        for one in chosen:
            assert not any(refusal.name == one.name and refusal.refuses(one.value, speculation) for refusal in refusals)
    assert all(is_name(one.name) and one.name not in OWNED for one in hardware.server_args)


@ALL
def test_a_tree_is_verified_by_a_backend_that_honours_its_mask(hardware: HardwareProfile) -> None:
    defaults = hardware.argument_defaults(Speculation.DDTREE)
    assert tree_mask_problem(str(defaults["attention-backend"].value), latent_attention=True) is None
    assert defaults["page-size"].value == 1


def test_flashinfer_depends_on_the_model() -> None:
    assert tree_mask_problem("flashinfer") is None
    assert tree_mask_problem("flashinfer", latent_attention=False) is None
    assert "MLA" in (tree_mask_problem("flashinfer", latent_attention=True) or "")


def test_unknown_profile() -> None:
    with pytest.raises(UsageError, match="did you mean 'b300-8x'"):
        profile("b300_8x")
