"""All dashboards, and their files."""

from __future__ import annotations

import json

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from dashboards.grafana.source.board import Board
from dashboards.grafana.source.failures import FAILURES
from dashboards.grafana.source.fleet import FLEET
from dashboards.grafana.source.server import SERVER
from dashboards.grafana.source.speculation import SPECULATION

BOARDS: tuple[Board, ...] = (FLEET, SERVER, SPECULATION, FAILURES)


def rendered() -> dict[str, str]:
    """The JSON of each dashboard by the name of its file, always in the same order."""
    return {
        f"{board.uid}.json": json.dumps(board.build(), cls=JSONEncoder, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        for board in BOARDS
    }
