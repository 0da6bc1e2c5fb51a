"""The HTML page: that nothing of the log becomes markup, that it needs nothing from outside, and that it says it all."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from ddtree_ops.report.failure import FailureReport
from tests.report.reports import full, hostile, of
from tests.triage.journals import NAMES

_VOID = {"meta", "wbr"}
_ALLOWED = {
    "html head meta title style body header main section article p span b i h1 h2 h3 table thead tbody tr th td div ol ul li code"
    " pre details summary small svg rect line circle text dl dt dd mark wbr"
}
_ATTRIBUTES = {
    "lang charset http-equiv content name class title scope rowspan open role aria-label height width x x1 x2 y y1 y2 cx cy r"
}


class Page(HTMLParser):
    """What a browser would make of it: elements, attributes, text; and whether all that opens is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += attrs
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


REPORTS = [full(), hostile(), *map(of, NAMES)]


@pytest.mark.parametrize("report", REPORTS)
def test_the_page_has_only_our_elements_and_attributes(report: FailureReport) -> None:
    page = Page(report.to_html())
    assert page.open == []
    assert set(page.elements) <= set(" ".join(_ALLOWED).split())
    assert {name for name, _ in page.attributes} <= set(" ".join(_ATTRIBUTES).split())


def test_hostile_text_is_text() -> None:
    text = hostile().to_html()
    page = Page(text)
    shown = "".join(page.text)
    assert "<script>alert(1)</script>" in shown
    assert "{{ 7*7 }}" in shown
    assert all(char in "\n" or char.isprintable() for char in text)
    assert page.elements.count("title") == 1 + len([name for name in page.elements if name == "circle"])


@pytest.mark.parametrize("report", REPORTS)
def test_it_needs_nothing_from_outside(report: FailureReport) -> None:
    text = report.to_html()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    style = re.search(r"<style>(.*?)</style>", text, re.S)
    assert policy
    assert style
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert policy[1] == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert not re.search(r"url\(|@import|<link|<script[ >]|\bsrc=|href=", re.sub(r">[^<]*", ">", text) + style[1])


def test_the_answer_comes_first() -> None:
    text = of("tp2_ddtree_shape").to_html()
    order = ["<h1>CUDA graph captured for 8 tokens", "Cause", ">8</th>", ">33</th>", "Fix", "Timeline", "RuntimeError", "About"]
    places = [text.index(word) for word in order]
    assert places == sorted(places)


def test_the_timeline_has_a_lane_for_each_rank_and_all_phases() -> None:
    page = Page(of("tp2_ddtree_shape").to_html())
    assert page.text.count("TP0") >= 2
    assert page.elements.count("circle") == 5
    shown = "".join(page.text)
    for words in ("graph capture: 58.4 s", "draft model: 2.6 s", "+91.5 s", "Main process exited", "91.5 s after the start"):
        assert words in shown


def test_libraries_and_outer_frames_are_folded() -> None:
    text = of("tp2_ddtree_shape").to_html()
    assert "7 frames further out, from run_scheduler_process" in text
    assert '<li class="raising">' in text


def test_parts_of_a_full_report() -> None:
    shown = re.sub(r"\s+", " ", "".join(Page(full().to_html(release="a1b2-c3d4")).text))
    for words in (
        "look here",
        "0000:a1:00.0",
        "2 threads at the same place: 0x1, 0x2",
        "> 3110 | result = forward(",
        "another of two lines",
        "the log lost part of it",
        "and 3 more times",
        "peer_rank_failed",
        "a1b2-c3d4",
        "s=1;i=2",
        "1 line that the process wrote before",
        "0123456789abcdef",
    ):
        assert words in shown, words


def test_many_failures_are_bounded() -> None:
    report = full()
    many = replace(report, failures=(report.failures[0], *[report.failures[1]] * 500))
    assert "460 more in the JSON report" in many.to_html()
    assert len(many.to_html()) < 200_000


def test_without_a_failure_and_without_times() -> None:
    assert "Nothing in it tells of a failure" in of("dflash_ok").to_html()
    assert "<h2>Timeline</h2>" not in hostile().to_html()
