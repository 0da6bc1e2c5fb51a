"""GPU memory as a starting SGLang server tells it in its log: the real figures of a boot, of rank 0, in GiB.

The lines are those of SGLang 0.5.13.post1 as recorded (`model_runner.py`, `memory_pool.py`, `scheduler.py`); its `GB` are 2**30
bytes. With a draft model the same lines come a second time, for the draft.

This file has no dependencies beyond log_lines: it is shipped in the wheel `sglang-ddtree` as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .log_lines import split_message

_GB = r"(\d{1,9}\.?\d{0,9}) GB"
_FIGURES: tuple[tuple[str, re.Pattern[str], tuple[str, ...]], ...] = (
    ("Load weight begin", re.compile(rf"Load weight begin\. avail mem={_GB}"), ("free_before",)),
    ("Load weight end", re.compile(rf"Load weight end\..{{0,400}}?, mem usage={_GB}"), ("weights",)),
    ("KV Cache is", re.compile(rf"KV Cache is allocated\..{{0,200}}?#tokens: (\d{{1,15}}), KV size: {_GB}"), ("tokens", "kv")),
    (
        "KV Cache is",
        re.compile(rf"KV Cache is allocated\..{{0,200}}?#tokens: (\d{{1,15}}), K size: {_GB}, V size: {_GB}"),
        ("tokens", "k", "v"),
    ),
    ("Capture", re.compile(rf"Capture .{{0,60}}?end\..{{0,100}}?mem usage={_GB}"), ("graphs",)),
    (
        "max_total_num",
        re.compile(rf"max_total_num_tokens=(\d{{1,15}}),.{{0,400}}?available_gpu_mem={_GB}"),
        ("tokens", "free_after"),
    ),
)
#: What a record may hold; every other key is left out when one is read.
NAMES = tuple(
    f"{prefix}{name}" for prefix in ("", "draft_") for name in ("free_before", "weights", "tokens", "kv", "graphs", "free_after")
)
_MOST = 10**15


class MemoryFigures:
    """Collects the figures of one start."""

    def __init__(self) -> None:
        self._found: dict[str, float] = {}
        self._draft = False

    @property
    def found(self) -> Mapping[str, float]:
        """The figures so far: `tokens` and `draft_tokens` are numbers of tokens, all others GiB."""
        return dict(self._found)

    def feed(self, message: str) -> None:
        """Take one journal message."""
        if "GB" not in message:
            return
        for line in split_message(message):
            if line.leading and line.bar is None:
                self._take(line.text)

    def _take(self, text: str) -> None:
        for word, pattern, names in _FIGURES:
            if text.startswith(word) and (found := pattern.match(text)):
                self._keep(dict(zip(names, map(float, found.groups()), strict=True)))
                return

    def _keep(self, figures: dict[str, float]) -> None:
        if "k" in figures:
            figures["kv"] = round(figures.pop("k") + figures.pop("v"), 3)
        # A second round of weights is the draft's.
        self._draft = self._draft or ("free_before" in figures and "weights" in self._found)
        prefix = "draft_" if self._draft and "free_after" not in figures else ""
        for name, value in figures.items():
            self._found.setdefault(f"{prefix}{name}", value)


def read_figures(data: object) -> Mapping[str, float]:
    """Figures as a boot record has them; whatever isn't one of ours, or no sensible number, is left out."""
    if not isinstance(data, Mapping):
        return {}
    pairs = ((name, data.get(name)) for name in NAMES)
    return {
        name: float(value)
        for name, value in pairs
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MOST
    }
