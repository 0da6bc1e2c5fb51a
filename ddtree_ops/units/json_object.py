"""JSON in the text of a host or a server, which may be damaged, or lie."""

from __future__ import annotations

import json
from typing import Any


def json_object(text: str | bytes) -> dict[str, Any] | None:
    """The object that the text is; None for anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
