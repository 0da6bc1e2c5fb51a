"""The judge of golden cases itself: it takes a right answer and refuses wrong ones."""

from __future__ import annotations

from typing import Any

from . import golden

REACHES = golden.Expectation("t", True, ("a/b.py:C.f", "b.py:g | c.py"), (), False)
ENDS = golden.Expectation("t", False, (), ("a/b.py:f",), False)


def _case(expected: golden.Expectation) -> golden.ReachCase:
    return golden.ReachCase("s", "x", "y", "because", expected)


def _step(file: str, function: str, code: str = "x = 1") -> dict[str, Any]:
    return {"file": file, "line": 3, "function": function, "code": code}


def _answer(reaches: bool, path: list[dict[str, Any]], spots: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    to = {"name": "y", "reaches": reaches, "path": path if reaches else [], "nearest": [] if reaches else path}
    return {"to": to, "blind_spots": spots or []}


def test_a_path_through_the_places_in_order_is_right() -> None:
    path = [_step("p/a/b.py", "C.f"), _step("z.py", "h"), _step("c.py", "anything")]
    assert golden.judge_reach(_case(REACHES), _answer(True, path)) == []


def test_a_path_around_a_place_or_in_another_order_is_wrong() -> None:
    around = [_step("p/a/b.py", "C.other"), _step("c.py", "g")]
    backwards = [_step("c.py", "g"), _step("p/a/b.py", "C.f")]
    for path in (around, backwards):
        (complaint,) = golden.judge_reach(_case(REACHES), _answer(True, path))
        assert "doesn't pass" in complaint


def test_the_wrong_verdict_is_wrong_with_the_reason() -> None:
    (complaint,) = golden.judge_reach(_case(REACHES), _answer(False, [_step("q.py", "near")]))
    assert "because" in complaint and "near" in complaint
    assert golden.judge_reach(_case(ENDS), _answer(True, [_step("a.py", "f"), _step("b.py", "g")]))


def test_a_blind_spot_excuses_a_no_only_in_its_file_and_where_the_case_says_so() -> None:
    lenient = golden.Expectation("t", True, ("a/b.py:C.f",), (), True)
    here, elsewhere = [_step("a/b.py", "C.f")], [_step("q.py", "f")]
    assert golden.judge_reach(_case(lenient), _answer(False, [], here)) == []
    assert golden.judge_reach(_case(lenient), _answer(False, [], elsewhere))
    assert golden.judge_reach(_case(REACHES), _answer(False, [], here))


def test_a_no_must_name_where_it_ends() -> None:
    assert golden.judge_reach(_case(ENDS), _answer(False, [_step("a/b.py", "K.f")])) == []
    assert golden.judge_reach(_case(ENDS), _answer(False, [_step("q.py", "f")]))


def test_about_wants_code_names_and_no_strangers() -> None:
    case = golden.AboutCase("s", "x", {"reads": (("a.py", "y = x.z"),)}, ("d",), ("never.py",))
    right: dict[str, Any] = {section: [] for section in golden.SECTIONS}
    right |= {"reads": [_step("p/a.py", "f", "y =  x.z")], "derived": [{"name": "C.d", "file": "a.py", "line": 1, "code": "d"}]}
    assert golden.judge_about(case, right) == []
    assert golden.judge_about(case, right | {"derived": []}) == ["derived: no d"]
    assert golden.judge_about(case, right | {"reads": []})
    assert golden.judge_about(case, right | {"writes": [_step("never.py", "f")]})
