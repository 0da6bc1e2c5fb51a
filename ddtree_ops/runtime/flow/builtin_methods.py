"""Methods of Python's own types that hand a value on or keep it."""

from __future__ import annotations

from ddtree_ops.runtime.extract.known_calls import words

HAND_ON = words(
    "lower upper strip lstrip rstrip split rsplit splitlines replace removeprefix removesuffix format title capitalize items "
    "values keys copy get pop popitem item tolist as_tuple total_seconds decode encode partition rpartition"
)
"""The call's value is the receiver's, or made of it. `.get()` is also how a descriptor of an environment variable is read."""
KEEP = words("append extend add insert update appendleft put")
"""The receiver holds the argument afterwards."""
OF_A_KEY = words("get pop")
"""With a key they give what is at that key."""
