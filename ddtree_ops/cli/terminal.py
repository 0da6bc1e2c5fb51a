"""What may be sent to a terminal, by the environment's word."""

from __future__ import annotations

import os


def is_dumb() -> bool:
    """It understands no escape codes (terminfo(5) calls that type `dumb`): neither colours nor a line that is drawn anew."""
    return os.environ.get("TERM") in ("dumb", "unknown")


def colour_wanted() -> bool:
    """https://no-color.org: any value of NO_COLOR but an empty one."""
    return not os.environ.get("NO_COLOR") and not is_dumb()
