"""Lines that a container runtime cut: each part but the last is marked, and parts of two streams may alternate."""

from __future__ import annotations

from ddtree_ops.triage.entry import MESSAGE_LIMIT

_OTHERS_LIMIT = 1000  # records that may come before a part's rest: then it won't come any more


class Parts:
    """Joins parts by the name of their stream."""

    def __init__(self) -> None:
        self._held: dict[str | None, list[str]] = {}
        self._size = 0
        self._others = 0

    def __bool__(self) -> bool:
        """Whether a part waits for its rest."""
        return bool(self._held)

    def join(self, stream: str | None, text: str, *, partial: bool) -> str | None:
        """The whole line that this part completes, or None. A line that is longer than a message may be is given early."""
        if not partial and not self._held:
            return text
        self._others += 1
        if partial and self._size + len(text) < MESSAGE_LIMIT:
            self._held.setdefault(stream, []).append(text)
            self._size += len(text) + 1
            self._others = 0
            return None
        if self._others > _OTHERS_LIMIT:
            self._held.clear()
        whole = "".join((*self._held.pop(stream, ()), text))
        self._size = sum(len(part) + 1 for parts in self._held.values() for part in parts)
        return whole

    def flush(self) -> tuple[str | None, str] | None:
        """A stream and what is still held of it, at the end."""
        if not self._held:
            return None
        stream, parts = self._held.popitem()
        self._held.clear()
        return stream, "".join(parts)
