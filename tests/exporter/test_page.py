"""The page's answers, without a browser: what is in them, what is refused, what is made anew."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ddtree_ops.exporter.journal import reports as journal_reports
from ddtree_ops.exporter.page.board import Board
from ddtree_ops.exporter.page.events import FleetNews, stream
from ddtree_ops.exporter.page.host import HostNews
from ddtree_ops.exporter.page.reports import policy, stored
from ddtree_ops.exporter.page.routes import StatusPage
from ddtree_ops.exporter.page.row import row_html
from ddtree_ops.exporter.page.spark import spark
from ddtree_ops.exporter.page.table import Selection
from ddtree_ops.exporter.sight.order import natural
from ddtree_ops.exporter.sight.readings import Observed
from ddtree_ops.exporter.sight.row import Row
from ddtree_ops.exporter.web.messages import Request, Response
from tests.exporter.fleet_model import NOW, Model, observed, read_later

KNOWN = "a1b2c3d4e5f60718"
CRASHED = Model("ct200", state="failed", exit_code=70, failures=((KNOWN, "graph_token_count_mismatch", "root", 90.0),))
FLEET = [observed(CRASHED), observed(Model("ct10")), observed(Model("ct9", queued=4)), observed(Model("b300", model="Kimi-K2"))]
HOSTILE = "<script>alert(1)</script>\u202egnp.exe\u200b\x1b[31m\"'&" + "long" * 5000


class Shown:
    """A page over a fleet, at a time that a test sets."""

    def __init__(self, fleet: list[Observed], state: Path | None = None) -> None:
        self.fleet, self.now = fleet, NOW
        self.board = Board(lambda: self.fleet, lambda: self.now)
        self.routes = {route.pattern: route.handler for route in StatusPage(self.board, stored(lambda _host: state)).routes()}

    def get(self, pattern: str, **query: str) -> Response:
        params: dict[str, str] = {name: query.pop(name) for name in ("fingerprint", "name") if name in query}
        return self.routes[pattern](Request(pattern, query, params))

    def text(self, **query: str) -> str:
        body = self.get("/", **query).body
        assert isinstance(body, bytes)
        return body.decode()


def hosts_of(page: str) -> list[str]:
    return re.findall(r'<tr role="row" id="r\w+" class="[^"]*" data-host="([^"]*)"', page)


def test_worst_first_then_by_number() -> None:
    assert hosts_of(Shown(FLEET).text()) == ["ct200", "b300", "ct9", "ct10"]


@pytest.mark.parametrize(
    ("query", "hosts"),
    [
        ({"q": "kimi"}, ["b300"]),
        ({"q": "FAILED graph_token"}, ["ct200"]),
        ({"q": "ct nothing"}, []),
        ({"state": "serving"}, ["b300", "ct9", "ct10"]),
        ({"state": "<b>"}, ["ct200", "b300", "ct9", "ct10"]),
        ({"sort": "host"}, ["b300", "ct9", "ct10", "ct200"]),
        ({"sort": "failure"}, ["ct200", "b300", "ct9", "ct10"]),
        ({"sort": "no such"}, ["ct200", "b300", "ct9", "ct10"]),
        ({"q": "ct", "state": "serving", "sort": "host"}, ["ct9", "ct10"]),
    ],
)
def test_selection(query: dict[str, str], hosts: list[str]) -> None:
    assert hosts_of(Shown(FLEET).text(**query)) == hosts


def test_times_are_in_words_and_title_and_icon_tell_the_worst() -> None:
    page = Shown(FLEET).text()
    assert f'<time data-t="{NOW - 90:.0f}">1 min ago</time>' in page
    assert "<title>1 failed, 3 serving – fleet – ddtree-ops</title>" in page
    assert "%23c4281c" in page
    assert "<time data-t" not in re.sub(r'<time data-t="\d+">\d+ \w+ ago</time>', "", page)


def test_one_host_is_its_own_page_and_a_fleet_has_one_a_host() -> None:
    alone = Shown([FLEET[0]]).text()
    assert "<h1>ct200</h1>" in alone
    assert f'href="/reports/{KNOWN}"' in alone
    both = Shown(FLEET).text(host="ct200")
    assert "<h1>ct200</h1>" in both
    assert f'href="/reports/{KNOWN}?host=ct200"' in both
    for address in ("/", "/events", "/api/status"):
        assert Shown(FLEET).get(address, host="ct2000").status == 404
    one = Shown(FLEET).get("/api/status", host="ct10").body
    assert isinstance(one, bytes)
    assert [host["host"] for host in json.loads(one)["hosts"]] == ["ct10"]


def test_policy_of_every_answer() -> None:
    shown = Shown(FLEET)
    for pattern in ("/", "/events", "/api/status"):
        told = shown.get(pattern).headers["Content-Security-Policy"]
        assert "default-src 'none'" in told
        assert "unsafe" not in told
    assert shown.get("/static/<name>", name="status.css").status == 200
    assert shown.get("/static/<name>", name="row.html.j2").status == 404
    assert not re.search(r"""\son\w+=|\sstyle=|javascript:|<style|<script(?! src=)|https?://(?!www\.w3\.org)""", shown.text())


def test_hostile_words_are_text() -> None:
    model = Model(
        HOSTILE,
        hardware=HOSTILE,
        model=HOSTILE,
        release=HOSTILE,
        state="failed",
        phase=HOSTILE,
        result=HOSTILE,
        cause=HOSTILE,
        fix=HOSTILE,
        problem=HOSTILE,
        drift={"file": 1},
        failures=((HOSTILE, HOSTILE, "root", 9.0),),
    )
    shown = Shown([observed(model), FLEET[1]])
    for page in (shown.text(), shown.text(host=HOSTILE), shown.text(q=HOSTILE)):
        assert "<script>alert" not in page
        assert "<b" not in page.replace("<body", "").replace("<button", "").replace("<b>", "")
        assert not set(page) & {"\u202e", "\u200b", "\x1b"}
        assert len(page) < 300_000


def test_reports_only_of_what_is_known(tmp_path: Path) -> None:
    folder = journal_reports.folder(tmp_path, 30000)
    folder.mkdir(parents=True)
    (folder / f"{KNOWN}.html").write_text("<style>p{}</style><p>why")
    (folder / f"{'b' * 16}.html").write_text("of another host")
    shown = Shown(FLEET, tmp_path)
    for query in ({}, {"host": "ct200"}):
        answer = shown.get("/reports/<fingerprint>", fingerprint=KNOWN, **query)
        assert (answer.status, answer.body) == (200, b"<style>p{}</style><p>why")
        assert answer.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'; style-src 'sha256-")
    for name in ("b" * 16, "..", "../reports/" + KNOWN, KNOWN.upper(), ""):
        assert shown.get("/reports/<fingerprint>", fingerprint=name).status == 404
    assert shown.get("/reports/<fingerprint>", fingerprint=KNOWN, host="ct9").status == 404
    assert "style-src 'none'" in policy(b"<p>no style")


def test_document() -> None:
    body = Shown(FLEET).get("/api/status").body
    assert isinstance(body, bytes)
    document = json.loads(body)
    assert document["schema"] == "ddtree-ops/fleet-status/v1"
    assert [host["state"] for host in document["hosts"]] == ["failed", "serving", "serving", "serving"]
    server = document["hosts"][0]["servers"][0]
    assert (server["failures"][0]["fingerprint"], server["load"]["eta"]) == (KNOWN, None)


def events(shown: Shown, news: FleetNews | HostNews) -> Iterator[tuple[str, dict[str, object]]]:
    for chunk in stream(shown.board, news.take):
        fields = dict(line.split(": ", 1) for line in chunk.decode().splitlines() if line)
        if "event" in fields:
            yield fields["event"], json.loads(fields["data"])


def test_stream_sends_what_changed() -> None:
    shown = Shown(list(FLEET))
    mark = shown.board.frame().mark
    seen = events(shown, FleetNews(Selection(), mark))
    name, first = next(seen)
    assert (name, "rows" in first, len(first["order"])) == ("news", False, 4)  # type: ignore[arg-type]
    shown.now += 2
    shown.fleet[1] = observed(Model("ct10", state="failed", exit_code=70), NOW + 2)
    _, second = next(seen)
    assert list(second["rows"]) == [second["order"][0]]  # type: ignore[call-overload, index]
    assert second["title"] == "2 failed, 2 serving – fleet – ddtree-ops"
    shown.now += 2
    shown.fleet.pop()
    _, third = next(seen)
    assert (third.get("rows"), len(third["order"])) == (None, 3)  # type: ignore[arg-type]
    shown.board.close()
    assert list(seen) == []


def test_a_reader_of_another_process_gets_everything() -> None:
    _, news = next(events(Shown(FLEET), FleetNews(Selection(), "00000000.5")))
    assert len(news["rows"]) == 4  # type: ignore[arg-type]


def test_stream_of_a_selection_adds_what_comes_into_it() -> None:
    shown = Shown(list(FLEET))
    seen = events(shown, FleetNews(Selection.of({"state": "failed"}), shown.board.frame().mark))
    assert "rows" not in next(seen)[1]
    shown.now += 2
    shown.fleet[1] = observed(Model("ct10", state="failed"), NOW + 2)
    assert len(next(seen)[1]["rows"]) == 1  # type: ignore[arg-type]


def test_stream_of_a_host() -> None:
    shown = Shown(list(FLEET))
    seen = events(shown, HostNews("ct10"))
    assert set(next(seen)[1]["parts"]) >= {"head", "servers", "gpus"}  # type: ignore[call-overload]
    shown.now += 2
    shown.fleet[1] = observed(Model("ct10", state="failed", exit_code=70), NOW + 2)
    _, news = next(seen)
    assert (news["say"], "gpus" in news["parts"]) == ("ct10: failed", False)  # type: ignore[operator]


def test_of_a_thousand_hosts_only_what_changed_is_rendered_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    rendered: list[str] = []

    def counted(row: Row, name: str, host: str, fleet: bool) -> str:
        rendered.append(host)
        return row_html(row, name, host, fleet)

    monkeypatch.setattr("ddtree_ops.exporter.page.board.row_html", counted)
    models = [Model(f"h{index}", queued=index % 7, generated=index) for index in range(1000)]
    shown = Shown([observed(model) for model in models])
    first = shown.text()
    assert sorted(hosts_of(first)) == sorted(rendered) == sorted(model.host for model in models)
    rendered.clear()
    shown.now += 2
    assert hosts_of(shown.text()) == hosts_of(first)
    assert rendered == []
    shown.now += 2
    shown.fleet[7] = read_later(shown.fleet[7], replace(models[7], queued=9), 5)
    assert hosts_of(shown.text()) == hosts_of(first)
    assert rendered == ["h7"]


@pytest.mark.parametrize(("hosts", "prepared"), [(1, []), (2, ["prepare"])])
def test_templates_of_a_fleet_are_compiled_before_anyone_asks(
    monkeypatch: pytest.MonkeyPatch, hosts: int, prepared: list[str]
) -> None:
    called: list[str] = []
    monkeypatch.setattr("ddtree_ops.exporter.page.board.prepare", lambda: called.append("prepare"))
    board = Shown(FLEET[:hosts]).board
    board.close()
    board._keep_up()  # once, since it is closed
    assert called == prepared


def test_spark_leaves_gaps_and_begins_at_nought() -> None:
    assert spark([None, 1.0], "x") == ""
    found = spark([0.0, 10.0, None, 5.0, 5.0], "x")
    assert '<path class="line" d="M55 18L56 2M58 10L59 10"/>' in found
    assert '<path class="area" d="M55 18L55 18L56 2L56 18ZM58 18L58 10L59 10L59 18Z"/>' in found
    assert "<title>x: 0.00 to 10.00 in the last 5 readings</title>" in found
    assert 'd="M57 18L58 18L59 18"' in spark([0.0, 0.0, 0.0], "x")


def test_natural_order() -> None:
    assert sorted(["ct10", "ct9", "ct9a", "b"], key=natural) == ["b", "ct9", "ct9a", "ct10"]
