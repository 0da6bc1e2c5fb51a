"""Watching one load: phases, movement, the time it may take, and what systemd is told of it."""

from __future__ import annotations

from collections.abc import Sequence

from .ending import Ending
from .eta import Boot, Outcome, remaining
from .events import JournalLine
from .exit_codes import ExitCode
from .memory_lines import MemoryFigures
from .phases import Phase, PhaseTracker
from .progress import Movement, Sample, WeightMeter
from .server_config import ServerConfig

# systemd's own timeout must come after our verdict, which has a reason and a better exit code.
_MARGIN_S = 30.0
_EXTENSION_EVERY_S = 5.0


class LoadWatch:
    """The state of one load. `now` is always time.monotonic()."""

    def __init__(self, config: ServerConfig, history: Sequence[Boot], now: float) -> None:
        self.tracker = PhaseTracker(now)
        self.started = now
        self.memory = MemoryFigures()
        self._config = config
        self._history = history
        self._movement = Movement(now)
        self._meter = WeightMeter(config.model_bytes)
        self._extended_for = -1.0
        self._extended_at = now - _EXTENSION_EVERY_S

    def journal(self, line: JournalLine) -> bool:
        """Take one line of the server's log. True if phase or fraction changed."""
        self._movement.log(line.message, line.at)
        self.memory.feed(line.message)
        return self.tracker.feed(line.message, line.at)

    def look(self, sample: Sample) -> None:
        """Take one look at the processes and GPUs."""
        self._movement.sample(sample, self.tracker.phase if self.tracker.heard else None)
        self._meter.update(self.tracker, self._movement.read_bytes)

    @property
    def ranks_began(self) -> bool:
        """True once a rank reached distributed_init: from then on an exit isn't the arguments' fault."""
        return self.tracker.phase is not Phase.ARGUMENTS

    def verdict(self, now: float) -> Ending | None:
        """The end of this load if it stalled or took too long, else None."""
        idle, where = self._movement.idle_s(now), self._where()
        if idle >= self._config.stall_after_s:
            text = f"stalled: nothing moved for {idle:.0f} s in {where} (last: {self._movement.what})"
            return Ending(ExitCode.STALLED, Outcome.STALLED, text)
        if now - self.started >= self._config.load_budget_s:
            text = f"stalled: not ready after {self._config.load_budget_s:.0f} s, still in {where}"
            return Ending(ExitCode.STALLED, Outcome.STALLED, text)
        return None

    def extension(self, now: float) -> float | None:
        """Seconds by which systemd's timeout must be extended now; None if nothing has moved since the last time."""
        if self._movement.last == self._extended_for or now - self._extended_at < _EXTENSION_EVERY_S:
            return None
        self._extended_for, self._extended_at = self._movement.last, now
        until_stalled = self._movement.last + self._config.stall_after_s - now
        until_budget = self.started + self._config.load_budget_s - now
        return max(0.0, min(until_stalled, until_budget)) + _MARGIN_S

    def status(self, now: float) -> str:
        """`<segment> <percent>% eta <seconds>s`; percent of this segment and eta of the whole load, where known."""
        words = [self._where()]
        if self.tracker.fraction is not None:
            words.append(f"{self.tracker.fraction * 100:.0f}%")
        left = remaining(self._history, self.tracker, now)
        if left is not None:
            words.append(f"eta {left:.0f}s")
        return " ".join(words)

    def _where(self) -> str:
        return self.tracker.segment if self.tracker.heard else "unknown"
