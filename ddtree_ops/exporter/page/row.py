"""A server's row as HTML, and the addresses in it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING
from urllib.parse import quote

from ddtree_ops.exporter.page.render import address, template
from ddtree_ops.exporter.page.spark import spark
from ddtree_ops.exporter.sight.row import Row

if TYPE_CHECKING:
    from markupsafe import Markup


def row_id(host: str, port: int | None) -> str:
    """An HTML id that is the host's and port's own, whatever characters they have."""
    return "r" + hashlib.sha256(f"{host}\0{port}".encode()).hexdigest()[:12]


def row_html(row: Row, name: str, host: str, fleet: bool) -> str:
    """`name` is the row's id, `host` the inventory's name. Times are still to be told in words (render.timed)."""
    report = report_href(host, row.failure.fingerprint, fleet) if row.failure else ""
    return template("row.html.j2").render(r=row, id=name, href=address("/", {"host": host}), report=report, **sparks(row))


def sparks(row: Row) -> dict[str, Markup]:
    """Both lines, for a template."""
    return {
        "tokens_spark": spark(row.tokens_series, "tokens a second"),
        "acceptance_spark": spark(row.acceptance_series, "tokens per verify step"),
    }


def report_href(host: str, fingerprint: str, fleet: bool) -> str:
    """Where the failure's report lies; in a fleet, it is one of several hosts'."""
    return address(f"/reports/{quote(fingerprint, safe='')}", {"host": host if fleet else ""})
