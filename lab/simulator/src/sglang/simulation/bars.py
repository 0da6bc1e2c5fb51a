"""Progress bars as tqdm 4.67 writes them to a pipe: every state behind a carriage return, one newline at the end."""

from __future__ import annotations

import time

from sglang.simulation.console import write

_EIGHTHS = " ▏▎▍▌▋▊▉"
_WIDTH = 10  # tqdm's bar where the terminal's width is unknown
_MIN_INTERVAL = 0.1  # seconds between two states, tqdm's default
_open_bars: list[Bar] = []


class Bar:
    """One bar of `total` steps. `shards` uses the form of SGLang's weight loader instead of tqdm's default."""

    def __init__(self, total: int, description: str = "", *, shards: bool = False) -> None:
        self._total = total
        self._shards = shards
        self._description = description
        self._done = 0
        self._began = time.monotonic()
        self._shown_at = -1.0
        self._shown = ""
        _open_bars.append(self)
        self._show(force=True)

    def describe(self, description: str) -> None:
        """Change the text in front, which tqdm shows at once."""
        self._description = description
        self._show(force=True)

    def update(self) -> None:
        """One step more; shown if the last state is old enough."""
        self._done += 1
        self._show(force=False)

    def close(self) -> None:
        """Show the last state and end the line."""
        if self in _open_bars:
            _open_bars.remove(self)
            self._show(force=True)
            write("\n")

    def _show(self, *, force: bool) -> None:
        now = time.monotonic()
        text = self._text(now - self._began)
        if (force or now - self._shown_at >= _MIN_INTERVAL) and text != self._shown:
            self._shown_at, self._shown = now, text
            write(f"\r{text}")

    def _text(self, elapsed: float) -> str:
        percent = f"{100 * self._done / self._total:3.0f}%"
        rate = self._done / elapsed if self._done and elapsed > 0 else None
        remaining = _clock((self._total - self._done) / rate) if rate else "?"
        counts = f"{self._done}/{self._total} [{_clock(elapsed)}<{remaining}, {_rate(rate)}]"
        front = f"{self._description}: " if self._description else ""
        if self._shards:
            return f"{front}{percent} Completed | {counts}"
        return f"{front}{percent}|{_blocks(self._done / self._total)}| {counts}"


def abandon_open_bars() -> None:
    """End the lines of bars that an exception left open, as tqdm does while the interpreter goes down."""
    for bar in tuple(_open_bars):
        bar._shown = ""
        bar.close()


def _blocks(fraction: float) -> str:
    full, eighth = divmod(int(fraction * _WIDTH * 8), 8)
    return ("█" * full + (_EIGHTHS[eighth] if full < _WIDTH else "")).ljust(_WIDTH)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"


def _rate(rate: float | None) -> str:
    if rate is None:
        return "?it/s"
    return f"{rate:5.2f}it/s" if rate >= 1 else f"{1 / rate:5.2f}s/it"
