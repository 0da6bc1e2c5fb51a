"""A map that keeps a bounded number of keys: how many processes and hosts a log names, its writer decides."""

from __future__ import annotations

from typing import Generic, TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Latest(dict[_Key, _Value], Generic[_Key, _Value]):
    """A dict to which `keep` adds; the keys that were kept longest ago go when there are more than `limit`."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def keep(self, key: _Key, value: _Value) -> None:
        """Set a key's value; it is the latest one now."""
        self.pop(key, None)
        self[key] = value
        while len(self) > self._limit:
            del self[next(iter(self))]
