"""Markdown: that log text can do nothing in it, as a CommonMark parser sees it."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from ddtree_ops.report.safe_text import code_span, fenced, markdown
from tests.report.reports import full, hostile, of

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
OURS = {"<details><summary>", "</summary>", "</details>"}


def tokens(text: str) -> list[Token]:
    """All tokens, inline ones too."""
    return [token for block in PARSER.parse(text) for token in (block, *(block.children or ()))]


def test_hostile_text_makes_no_markup() -> None:
    found = tokens(hostile().to_markdown())
    assert not [token for token in found if token.type in ("link_open", "image", "html_inline", "s_open", "em_open")]
    html = "".join(token.content for token in found if token.type == "html_block")
    assert "script" not in html
    assert "<img" not in html
    headings = [token for token in found if token.type == "heading_open"]
    assert [token.tag for token in headings] == ["h1", "h2"]
    fences = [token for token in found if token.type == "fence"]
    assert all(token.info == "text" for token in fences)
    assert "```" in fences[0].content


@pytest.mark.parametrize(
    "text",
    [
        "*a* _b_ **c** `d` ~~e~~",
        "<script>alert(1)</script> <!-- x",
        "[a](javascript:b) ![i](http://x/y) <http://z>",
        "# heading",
        "- item",
        "+ item",
        "12. item",
        "3) item",
        "> quote",
        "| a | b |",
        "---",
        "===",
        "&lt;b&gt; &#60;",
        "a\\*b\\",
        "$x$ $$y$$",
        "```",
        "    indented",
    ],
)
def test_a_text_is_shown_as_it_is(text: str) -> None:
    found = tokens(markdown(text))
    assert [token.type for token in found if token.nesting == 1] == ["paragraph_open"]
    shown = "".join(token.content for token in found if token.type in ("text", "text_special"))
    assert shown.replace("\u2060", "") == " ".join(text.split())


@pytest.mark.parametrize(
    "text", ["@everyone", "a@b.org", "#12", "x/y#3", "GH-12", "0123abc", "deadbeefdeadbeefdeadbeefdeadbeefdeadbeef"]
)
def test_nothing_is_mentioned_or_referred_to(text: str) -> None:
    assert "\u2060" in markdown(text)
    assert markdown(text).replace("\u2060", "").replace("\\", "") == text


@pytest.mark.parametrize("text", ["http://x.org/a", "https://x.org", "www.x.org", "see WWW.x.org"])
def test_bare_addresses_become_no_links(text: str) -> None:
    assert "\\" in markdown(text)


def test_plain_text_stays_readable() -> None:
    text = "speculative_num_draft_tokens = 8 (server_args in the log), --disable-cuda-graph: 0.5.13"
    assert markdown(text) == text


def test_code() -> None:
    assert code_span("a`b") == "``a`b``"
    assert code_span("`") == "`` ` ``"
    assert fenced("a\n```").startswith("````text\n")


def test_the_story_as_an_issue() -> None:
    text = of("tp2_ddtree_shape").to_markdown()
    assert "| **33** | in no argument of this run; one more than 32 |" in text
    assert text.index("## CUDA graph captured") < text.index("**Cause**") < text.index("**Fix**") < text.index("<details>")
    assert text.count("<details>") == text.count("</details>") == 3
    assert "All 15 frames" in text
    assert "> 138: RuntimeError: The size of tensor a (8)" in text


def test_parts_of_a_full_report() -> None:
    text = full().to_markdown()
    for words in (
        "**Note**",
        "Threads: 3",
        "MainThread (0x3) (current)",
        "**Devices**",
        "> 3110 |",
        "- consequence: peer_rank_failed",
    ):
        assert words in text
    assert {token.content.strip() for token in tokens(text) if token.type == "html_block"} <= {
        f"<details><summary>{title}</summary>"
        for title in ("All 3 frames", "Installed source", "Threads: 3", "Lines of the log", "Timeline")
    } | {"</details>"}
