"""The algorithm against SGLang's real classes. Runs where SGLang 0.5.13.post1 and torch are installed, also without a GPU."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

import pytest

from tests.ddtree.on_cpu import needs

spec_info: Any = needs("torch", "sglang.srt.speculative.spec_info")

from sglang_ddtree.ddtree.fingerprints import Release, identify  # noqa: E402
from sglang_ddtree.runtime import algorithm, arguments, plugin  # noqa: E402


def test_every_method_of_the_built_in_algorithms_is_there() -> None:
    """`CustomSpecAlgo` lacks one the scheduler calls; a missing one would be an AttributeError at start."""
    built_in = {name for name, value in vars(spec_info.SpeculativeAlgorithm).items() if inspect.isfunction(value)}
    wanted = {name for name in built_in if not name.startswith("_")}
    assert wanted
    assert wanted <= set(dir(algorithm.DDTreeAlgorithm)), wanted - set(dir(algorithm.DDTreeAlgorithm))


def test_signatures_are_sglangs() -> None:
    for name in ("create_future_map", "get_num_tokens_per_bs_for_target_verify", "build_disagg_draft_input"):
        theirs = inspect.signature(getattr(spec_info.SpeculativeAlgorithm, name))
        ours = inspect.signature(getattr(algorithm.DDTreeAlgorithm, name))
        assert list(ours.parameters) == list(theirs.parameters), name


def test_it_registers_and_keeps_the_two_widths_apart() -> None:
    algorithm.register()
    ddtree = spec_info.SpeculativeAlgorithm.from_string("ddtree")
    assert ddtree.is_dflash()
    assert ddtree.is_speculative()
    assert ddtree.supports_target_verify_for_draft()
    assert not any((ddtree.is_none(), ddtree.is_eagle(), ddtree.is_ngram(), ddtree.supports_spec_v2()))
    assert ddtree.get_num_tokens_per_bs_for_target_verify(33, False) == 33
    assert ddtree.get_num_tokens_per_bs_for_target_verify(8, True) == 8
    with pytest.raises(ValueError, match="already registered"):
        algorithm.register()


def test_the_hashes_are_those_of_the_release_that_the_lock_names() -> None:
    folder = plugin.sglang_folder()
    assert folder is not None
    assert isinstance(identify(folder), Release), identify(folder)


def test_every_server_argument_it_reads_or_sets_exists() -> None:
    """A field renamed by SGLang would be set on the side and change nothing."""
    used = set(re.findall(r"server_args\.(\w+)", inspect.getsource(arguments)))
    server_args: Any = needs("sglang.srt.server_args")
    known = {field.name for field in dataclasses.fields(server_args.ServerArgs)} | set(dir(server_args.ServerArgs))
    assert len(used) > 15
    assert used <= known, used - known
