"""Where a second stands on a drawn timeline: in proportion, but no phase so narrow that it can't be seen."""

from __future__ import annotations

from bisect import bisect_right

from ddtree_ops.report.timeline import Span, Timeline

_LEAST = 0.025  # share of the whole that a phase or a pause has at least


class Scale:
    """Maps seconds to percent of the width. Phases are linear inside; a short one is drawn wider than its share."""

    def __init__(self, story: Timeline, phases: list[Span]) -> None:
        points = {0.0, story.length, *(span.begin for span in phases), *(span.end for span in phases)}
        points |= {moment.at for moment in story.moments[-1:]}
        self._points = sorted(point for point in points if 0 <= point <= story.length)
        lengths = [stop - start for start, stop in zip(self._points, self._points[1:], strict=False)]
        whole = sum(lengths) or 1.0
        widths = [max(length / whole, _LEAST) for length in lengths]
        self._places = [0.0]
        for width in widths:
            self._places.append(self._places[-1] + 100 * width / sum(widths))

    def __call__(self, seconds: float) -> float:
        """Percent, rounded to hundredths."""
        seconds = min(max(seconds, 0.0), self._points[-1])
        index = min(bisect_right(self._points, seconds) - 1, len(self._points) - 2)
        if index < 0:
            return 0.0
        start, stop = self._points[index], self._points[index + 1]
        share = (seconds - start) / (stop - start) if stop > start else 0.0
        return round(self._places[index] + share * (self._places[index + 1] - self._places[index]), 2)
