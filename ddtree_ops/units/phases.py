"""Following a loading SGLang server through its phases, by its own log.

Which line starts which phase was read in recorded runs of SGLang 0.5.13.post1 and in its source
(`model_runner.py`, `http_server.py`, `tokenizer_manager.py`). With a draft model the four middle phases come twice, so
a *segment* is a phase of one round: `weights` is the target's, `draft_weights` the draft's.

This file has no dependencies: it is shipped in the wheel `sglang-ddtree` as well.
"""

from __future__ import annotations

import re
from enum import StrEnum

from .log_lines import Bar, split_message


class Phase(StrEnum):
    """What a server is doing, in the order in which a start goes through it."""

    ARGUMENTS = "arguments"
    DISTRIBUTED_INIT = "distributed_init"
    WEIGHTS = "weights"
    KV_CACHE = "kv_cache"
    GRAPH_CAPTURE = "graph_capture"
    WARMUP = "warmup"
    SERVING = "serving"
    SHUTDOWN = "shutdown"


_ORDER = tuple(Phase)
_MIDDLE = (Phase.DISTRIBUTED_INIT, Phase.WEIGHTS, Phase.KV_CACHE, Phase.GRAPH_CAPTURE)
# Words, one of which is in every line that the pattern matches; the pattern, at the beginning of a line; what begins there.
_STARTS: tuple[tuple[tuple[str, ...], re.Pattern[str], Phase], ...] = (
    (("distributed begin",), re.compile(r"Init torch distributed begin"), Phase.DISTRIBUTED_INIT),
    (("weight begin",), re.compile(r"Load weight begin"), Phase.WEIGHTS),
    (("weight end",), re.compile(r"Load weight end"), Phase.KV_CACHE),
    ((" begin",), re.compile(r"Capture (?:[\w-]+ ){0,4}(?i:cuda graph) begin"), Phase.GRAPH_CAPTURE),
    (("Uvicorn running",), re.compile(r"(?:INFO: +)?Uvicorn running on"), Phase.WARMUP),
    (("fired up",), re.compile(r"The server is fired up and ready to roll"), Phase.SERVING),
    (("SIGTERM", "Gracefully"), re.compile(r"(?:Signal )?SIGTERM received|Gracefully exiting"), Phase.SHUTDOWN),
)
#: One of these stands in every line that starts a phase.
WORDS = tuple(word for words, _, _ in _STARTS for word in words)
# Other bars (downloads, compilers) say nothing about how far these two are.
_COUNTED_BARS = {Phase.WEIGHTS: re.compile(r"shards"), Phase.GRAPH_CAPTURE: re.compile(r"^$|Capturing")}


def may_matter(text: str) -> bool:
    """False only if no line of `text` can start a phase: a quick first look for whoever reads long logs."""
    return any(word in text for word in WORDS)


class PhaseTracker:
    """The state of one start. Only goes forward: what a slower rank says late changes nothing.

    Times are seconds of one monotonic clock, the caller's: journald's `__MONOTONIC_TIMESTAMP` and Python's
    `time.monotonic()` are the same clock on one boot of one host.
    """

    def __init__(self, started: float | None = None) -> None:
        self.phase = Phase.ARGUMENTS
        self.heard = False
        self._draft = False
        self._segment_started = started
        self._finished: list[tuple[str, float]] = []
        self._bar: Bar | None = None

    @property
    def segment(self) -> str:
        """The phase's name, with `draft_` before it while the draft model goes through it."""
        return f"draft_{self.phase}" if self._draft and self.phase in _MIDDLE else str(self.phase)

    @property
    def fraction(self) -> float | None:
        """How much of this segment is done, 0 to 1; None if nothing told."""
        return self._bar.fraction if self._bar else None

    @property
    def segments(self) -> tuple[tuple[str, float], ...]:
        """The finished segments and their seconds, in order."""
        return tuple(self._finished)

    @property
    def segment_started(self) -> float | None:
        """When this segment began."""
        return self._segment_started

    def feed(self, message: str, at: float) -> bool:
        """Take one journal message, written at `at`. True if phase, segment or fraction changed."""
        self._hear(at)
        changed = False
        for line in split_message(message):
            if line.bar:
                changed |= self._take_bar(line.bar)
            else:
                changed |= self.feed_line(line.text, line.leading, at)
        return changed

    def feed_line(self, text: str, leading: bool, at: float) -> bool:
        """Take one line that was split already: its text without header, and whether it is rank 0's or has no rank.

        Bars aren't read here. True if the phase changed.
        """
        self._hear(at)
        if not leading:
            return False
        for _, pattern, phase in _STARTS:
            if pattern.match(text):
                return self._reach(phase, at)
        return False

    def measure(self, fraction: float) -> bool:
        """Take a measured fraction of the current segment (bytes read of bytes to read). True if it tells more."""
        if self.fraction is not None and fraction <= self.fraction:
            return False
        self._bar = Bar(self._bar.name if self._bar else "", min(max(fraction, 0.0), 1.0))
        return True

    def closed(self, at: float) -> tuple[tuple[str, float], ...]:
        """All segments up to `at`, the current one included: what a boot record keeps."""
        return (*self._finished, (self.segment, _seconds(self._segment_started, at)))

    def _take_bar(self, bar: Bar) -> bool:
        counted = _COUNTED_BARS.get(self.phase)
        if counted is None or not counted.search(bar.name):
            return False
        return self.measure(bar.fraction)

    def _hear(self, at: float) -> None:
        if self._segment_started is None:
            self._segment_started = at
        self.heard = True

    def _reach(self, phase: Phase, at: float) -> bool:
        second_round = not self._draft and self._target_is_loaded and phase in _MIDDLE[:2]
        if not second_round and _ORDER.index(phase) <= _ORDER.index(self.phase):
            return False
        self._finished.append((self.segment, _seconds(self._segment_started, at)))
        self._segment_started = max(at, self._segment_started or at)
        self._draft = self._draft or second_round
        self.phase = phase
        self._bar = None
        return True

    @property
    def _target_is_loaded(self) -> bool:
        return self.phase in (Phase.KV_CACHE, Phase.GRAPH_CAPTURE)


def _seconds(begin: float | None, end: float) -> float:
    return round(max(0.0, end - begin), 3) if begin is not None else 0.0
