"""`journalctl -o json-pretty`: JSON objects over several lines, from `{` to `}`, each alone on its line."""

from __future__ import annotations

from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.triage.forms.json_lines import LINE_LIMIT, parse_json_line
from ddtree_ops.triage.forms.sieve import WholeForm


class JsonPretty(WholeForm):
    """Reads one line after the other; an entry comes with its last line."""

    line_limit, drop_rest = LINE_LIMIT, True

    def __init__(self) -> None:
        self._text = bytearray()

    def decode(self, line: bytes) -> JournalEntry | None:
        """Take a line; give the entry that ends here."""
        text = line.rstrip()
        if not self._text and not text.startswith(b"{"):
            return None
        if len(self._text) + len(text) < LINE_LIMIT:
            self._text += text
        return self.flush() if text in (b"}", b"},") else None

    def flush(self) -> JournalEntry | None:
        """The entry that is being read, as far as it came."""
        whole = bytes(self._text.rstrip(b","))
        self._text.clear()
        return parse_json_line(whole) if whole else None
