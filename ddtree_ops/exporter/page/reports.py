"""`/reports/<fingerprint>`: triage's page of a failure that the exporter knows."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Collection
from pathlib import Path

from ddtree_ops.exporter.journal.reports import read_report

_STYLE = re.compile(rb"<style>(.*?)</style>", re.DOTALL)

#: Host and fingerprint to the page, None where there is none.
Reports = Callable[[str, str], bytes | None]


def stored(directory: Callable[[str], Path | None]) -> Reports:
    """The reports that this exporter keeps in each host's `directory`; none without one. What can't be read isn't there."""

    def read(host: str, fingerprint: str) -> bytes | None:
        where = directory(host)
        try:
            return read_report(where, fingerprint) if where else None
        except (ValueError, OSError):
            return None

    return read


def find(reports: Reports, host: str, fingerprint: str, known: Collection[str]) -> bytes | None:
    """Only what the host tells of right now: an address is no way to a file."""
    return reports(host, fingerprint) if fingerprint in known else None


def policy(page: bytes) -> str:
    """Nothing but the page's own style sheet, by its hash, as the page itself says (report/as_html.py); and no origin of ours."""
    style = _STYLE.search(page)
    digest = base64.b64encode(hashlib.sha256(style[1]).digest()).decode() if style else None
    allowed = f"'sha256-{digest}'" if digest else "'none'"
    return f"sandbox; default-src 'none'; style-src {allowed}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
