"""The code around the failing frames, as it is installed: from the host itself or from a source tree."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from contextlib import suppress
from pathlib import Path

from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.ports import Command, Shell
from ddtree_ops.report.failure import FailureReport
from ddtree_ops.triage.source_windows import Installed, candidates

_SIZE = 4 << 20
# The log names the files, and logs are hostile: only Python code of a release is read, whatever a frame says.
_RELEASED = re.compile(
    r"(?P<release>/opt/ddtree/(?:current|releases/[\w.-]{1,100}))(?P<site>/venv/lib/python3\.\d{1,2}/site-packages)/"
    r"(?P<tail>[\w./-]{1,400}\.py)"
)


def from_tree(report: FailureReport, tree: Path) -> FailureReport:
    """The report with the code of a source tree, which need not be what ran."""
    root = tree.resolve()

    def read(file: str) -> bytes | None:
        for candidate in candidates(file):
            found = (root / candidate).resolve()
            with suppress(OSError):  # a file that can't be read has no window
                if found.is_relative_to(root) and found.is_file() and found.stat().st_size <= _SIZE:
                    return found.read_bytes()
        return None

    return report.with_source(read)


def from_host(report: FailureReport, shell: Shell) -> FailureReport:
    """The report with the code that is installed; what differs from the release's manifest is told. Raises Unreachable."""
    host = _Installed(shell)
    return report.with_source(host.read, host.check)


class _Installed:
    """Files of the host's releases. A RECORD has the sha256 of each file of a distribution, the manifest that of the RECORD."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._contents: dict[str, bytes] = {}

    def read(self, file: str) -> bytes | None:
        """A file's bytes, or None if it isn't a release's or can't be read."""
        if not _RELEASED.fullmatch(file) or ".." in file:
            return None
        try:
            with self._shell.stream(("head", f"--bytes={_SIZE + 1}", "--", file)) as stream:
                content = b"".join(stream.chunks())
        except HostCommandFailed:
            return None
        if len(content) > _SIZE:
            return None
        self._contents[file] = content
        return content

    def check(self, file: str) -> Installed:
        """Whether it is what the release's manifest covers."""
        found = _RELEASED.fullmatch(file)
        if found is None or file not in self._contents:
            return Installed.UNKNOWN
        try:
            line = self._record_line(found["release"] + found["site"], found["tail"])
            whole = line is not None and self._is_the_manifests(found["release"], line[0])
        except HostCommandFailed:  # the diagnosis is what was asked for; this is only beside it
            return Installed.UNKNOWN
        if line is None:
            return Installed.UNKNOWN
        digest = line[1]
        if not whole:
            return Installed.DIFFERS
        own = base64.urlsafe_b64encode(hashlib.sha256(self._contents[file]).digest()).rstrip(b"=").decode()
        return Installed.MATCHES if own == digest else Installed.DIFFERS

    def _record_line(self, site: str, tail: str) -> tuple[str, str] | None:
        """The RECORD that has the file, and the digest in it."""
        argv = ("grep", "--recursive", "--fixed-strings", "--include=RECORD", f"--regexp={tail},sha256=", "--", site)
        for line in self._shell.run(Command(argv, ok=frozenset({0, 1}))).stdout.splitlines():
            record, _, row = line.partition(":")
            name, _, rest = row.partition(",sha256=")
            if name == tail:
                return record, rest.partition(",")[0]
        return None

    def _is_the_manifests(self, release: str, record: str) -> bool:
        manifest = self._shell.run(Command(("cat", "--", f"{release}/manifest.json"), ok=frozenset({0, 1}))).stdout
        try:
            records = json.loads(manifest)["records"]
            wanted = records["/".join(record.rsplit("/", 2)[-2:])]
        except (ValueError, KeyError, TypeError, RecursionError):
            return False
        return bool(self._shell.run(Command(("sha256sum", "--", record))).stdout.split(" ")[0] == wanted)
