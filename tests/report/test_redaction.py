"""No form of a report carries the credentials of a request that a traceback quotes."""

from __future__ import annotations

import json

import pytest

from ddtree_ops.report.entries import triage_entries
from ddtree_ops.report.safe_text import block, one_line
from tests.triage.journals import plain

KEY = "sk-ab.C_1~+/2=="
QUOTED = (
    f"Authorization: Bearer {KEY}",
    f"authorization:bearer {KEY}",
    f"{{'Authorization': 'Bearer {KEY}', 'Accept': '*/*'}}",
    f"[(b'authorization', b'Bearer {KEY}')]",
    f'{{\\"Authorization\\": \\"Bearer {KEY}\\"}}',
    f"Proxy-Authorization: Basic {KEY}",
    f"Authorization: {KEY}",
    f"x\\nBearer {KEY}\\n",
    f"Bea\u200brer \x1b[1m{KEY}",
    f"Bearer          {KEY}",
    f"Bearer '{KEY}'",
    f"Bearer%20{KEY}",
)


@pytest.mark.parametrize("text", QUOTED)
def test_a_token_is_left_out_however_it_is_quoted(text: str) -> None:
    for shown in (one_line(f"before {text} after"), block(f"before\n  {text}\nafter")):
        assert "sk-" not in shown
        assert "***" in shown
        assert shown.startswith("before")
        assert shown.endswith("after")


def test_a_token_on_the_next_line() -> None:
    assert block(f"Bearer\n  {KEY}\nafter") == "Bearer\n  ***\nafter"


@pytest.mark.parametrize("text", ["authorization failed: no key", "the bearers come", "Authorization", "author: x"])
def test_other_text_stays(text: str) -> None:
    assert one_line(text) == text


def test_no_form_of_a_report_has_it() -> None:
    lines = [
        "[2026-04-02 03:04:05 TP1] Scheduler hit an exception: Traceback (most recent call last):",
        f'  File "/opt/x/Bearer {KEY}.py", line 1, in ask',
        f'    send({{"Authorization": "Bearer {KEY}"}})',
        f"Bearer.Error: cause Bearer {KEY}",
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        "Traceback (most recent call last):",
        '  File "/opt/x/b.py", line 1, in ask',
        f"ValueError: Invalid header value b'Bearer {KEY}'",
        f"second line: Authorization: Bearer {KEY}",
    ]
    report = triage_entries(plain("\n".join(lines)), host=f"Bearer {KEY}", unit=f"Bearer {KEY}")
    forms = [json.dumps(report.to_data()), report.to_markdown()]
    forms += [report.to_terminal(colour=colour, width=width) for colour in (False, True) for width in (40, 200)]
    for text in forms:
        assert "Invalid header value" in text
        assert "sk-" not in text.replace("\\", "")


def test_nor_have_titles_and_evidence() -> None:
    words = f"ddtree launcher: crashed: Bearer {KEY} (exit 70)"
    report = triage_entries(plain(words))
    assert "sk-" not in report.to_json() + report.to_markdown() + report.to_terminal(colour=False)
    assert report.root is not None
