"""Reading /metrics: what prometheus_client writes, SGLang's recorded page, and hostile lines."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddtree_ops.units.exposition import MOST_LINE_BYTES, MOST_SAMPLES, Sample, parse_samples
from tests.hang import ends

NAME = "sglang_ddtree_verify_steps_total"


def one(line: str) -> Sample | None:
    found = parse_samples(f"# HELP {NAME} x\n# TYPE {NAME} counter\n{line}\n".encode(), "sglang_ddtree_")
    assert len(found) < 2
    return found[0] if found else None


@pytest.mark.parametrize(
    ("line", "labels", "value"),
    [
        (f"{NAME} 3", (), 3),
        (f"{NAME}{{}} 3.5 1795977363000", (), 3.5),
        (f'{NAME}{{model_name="/m"}} 1e+06', (("model_name", "/m"),), 1e6),
        (f'{NAME}{{b="2",a="1",}} 0\r', (("a", "1"), ("b", "2")), 0),
        (NAME + r'{m="a\"b\\c\nd} 7 {"} 7', (("m", 'a"b\\c\nd} 7 {'),), 7),
        (f'{NAME} {{m="a"}} 7', None, None),
        (f"{NAME}\t+Inf", (), math.inf),
    ],
)
def test_lines(line: str, labels: object, value: float | None) -> None:
    sample = one(line)
    if value is None:
        assert sample is None
    else:
        assert sample == Sample(NAME, labels, value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "line",
    ["", NAME, f"{NAME} ", f"{NAME} x", f"{NAME} 1_000", f"{NAME}{{ 3", f'{NAME}{{m="a}} 3', f'{NAME}{{m="a" n="b"}} 3',
     f'{NAME}{{m="a",m="b"}} 3', f"{NAME} 3 4 5", f"{NAME}{{m=a}} 3", f"  {NAME}x 3"],
)  # fmt: skip
def test_what_is_no_sample_is_skipped(line: str) -> None:
    assert one(line) is None


def test_other_names_are_left_alone() -> None:
    body = b'sglang:spec_accept_length{tp_rank="0"} 0.0\nsglang_ddtree_tree_nodes_total 4\nxsglang_ddtree_a 1\n'
    assert [sample.name for sample in parse_samples(body, "sglang_ddtree_")] == ["sglang_ddtree_tree_nodes_total"]


@pytest.mark.parametrize("filler", ['m="', 'a="b",', '\\"', " ", "{", '="', "1"])
def test_a_hostile_line_comes_to_an_end(filler: str) -> None:
    just_fits = f"{NAME}{{" + filler * ((MOST_LINE_BYTES - 100) // len(filler))
    too_long = f"{NAME}{{" + filler * (1_000_000 // len(filler))
    with ends():
        parse_samples(f"{just_fits}\n{too_long}\n".encode(), "sglang_ddtree_")


def test_the_number_of_samples_is_bounded() -> None:
    assert len(parse_samples(f"{NAME} 1\n".encode() * (MOST_SAMPLES + 5), "sglang_")) == MOST_SAMPLES


@given(st.binary(max_size=300))
def test_it_never_raises(data: bytes) -> None:
    parse_samples(NAME.encode() + data + b"\n" + NAME.encode() + b"{" + data, "sglang_ddtree_")


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40), st.floats(allow_nan=False))
def test_what_is_written_by_the_rules_is_read_back(label: str, value: float) -> None:
    escaped = label.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    assert one(f'{NAME}{{m="{escaped}"}} {value!r}') == Sample(NAME, (("m", label),), value)
