"""The launcher's own rhythm, in seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """How often it looks, and how long it waits for what."""

    look_every_s: float = 2.0
    crash_grace_s: float = 3.0
    """After an exception the ranks still write their tracebacks; what SGLang does after that is a minute of waiting."""
    settle_s: float = 1.0
    """After an exit the journal still holds lines that we haven't read."""
    drain_margin_s: float = 10.0
    """More than drain_s, so that SGLang's own deadline comes first."""
    probe_pause_s: float = 1.0
