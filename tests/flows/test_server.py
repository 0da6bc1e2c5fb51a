"""Questions over a connection that was lost: asked once more, and no oftener."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from ddtree_ops.errors import Unreachable
from ddtree_ops.ports import HttpRequest, HttpResponse
from tests.flows.host_model import HostModel
from tests.flows.test_deploy import server

ASKED = HttpRequest(30000, "/health")


@dataclass
class Breaking:
    """HTTP over a connection that is lost `losses` times."""

    losses: int
    asked: list[HttpRequest] = field(default_factory=list)

    def request(self, request: HttpRequest) -> HttpResponse:
        self.asked.append(request)
        if len(self.asked) <= self.losses:
            raise Unreachable("the connection was lost")
        return HttpResponse(200, b"", 0.0)


def test_a_cut_session_is_no_answer_of_the_server() -> None:
    http = Breaking(losses=1)
    assert replace(server(HostModel()), http=http).ask(ASKED).status == 200
    assert http.asked == [ASKED, ASKED]


def test_a_host_that_stays_away_is_told() -> None:
    http = Breaking(losses=9)
    with pytest.raises(Unreachable):
        replace(server(HostModel()), http=http).ask(ASKED)
    assert len(http.asked) == 2
