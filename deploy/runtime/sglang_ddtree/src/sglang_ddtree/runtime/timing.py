"""Where a step's time goes, measured by CUDA events: only when SGLANG_DDTREE_STEP_TIMES=1.

The events of a step are read one step later, when they have long passed: nothing waits for them.
"""

from __future__ import annotations

import os

import torch

from .metrics import PARTS, StepRecorder

VARIABLE = "SGLANG_DDTREE_STEP_TIMES"


class StepTimer:
    """Call `mark` at the start of a step and after each part; does nothing unless enabled."""

    def __init__(self, recorder: StepRecorder) -> None:
        self._recorder = recorder
        self._enabled = os.environ.get(VARIABLE) == "1"
        self._now: list[torch.cuda.Event] = []
        self._before: list[torch.cuda.Event] = []

    def mark(self) -> None:
        """A boundary between two parts."""
        if not self._enabled:
            return
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self._now.append(event)

    def finish(self) -> None:
        """The step is over: report the one before it."""
        if self._before:
            pairs = zip(self._before, self._before[1:], strict=False)
            self._recorder.record_times([start.elapsed_time(end) / 1000 for start, end in pairs])
        self._before, self._now = (self._now if len(self._now) == len(PARTS) + 1 else []), []
