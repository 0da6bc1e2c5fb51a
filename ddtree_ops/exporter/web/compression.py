"""gzip for whole bodies."""

from __future__ import annotations

import re
import zlib
from dataclasses import replace

from ddtree_ops.exporter.web.messages import Response

_LEAST_BYTES = 1024
_GZIP = 16 + zlib.MAX_WBITS  # the form of RFC 1952
# RFC 9110, 12.5.3: gzip is named, and not with the weight 0.
_TAKEN = re.compile(r"(?:^|,)\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))[^,]*)?(?:,|$)", re.IGNORECASE)


def compressed(response: Response, accepted: str) -> Response:
    """The response as a client may have it that sent `accepted` as Accept-Encoding."""
    if not isinstance(response.body, bytes) or len(response.body) < _LEAST_BYTES or "Content-Encoding" in response.headers:
        return response
    headers = {**response.headers, "Vary": "Accept-Encoding"}
    if not _TAKEN.search(accepted):
        return replace(response, headers=headers)
    return replace(response, headers={**headers, "Content-Encoding": "gzip"}, body=zlib.compress(response.body, 1, _GZIP))
