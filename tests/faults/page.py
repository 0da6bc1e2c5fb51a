"""Writes docs/reliability.md from the results of one or several runs: `python -m tests.faults.page [FILE...]`.

The results are kept beside the page (docs/faults.json), so that a test can see that the page says what they say.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.faults.matrix import CASES, Fault, Step

PROJECT = Path(__file__).resolve().parents[2]
PAGE = PROJECT / "docs" / "reliability.md"
KEPT = PROJECT / "docs" / "faults.json"

HEAD = """\
# Reliability: faults at every step of a deploy

<!-- Written by `make faults` (tests/faults/page.py) from docs/faults.json; don't edit. -->

Each field is one real run on a lab host (its own systemd, journald, sshd; the simulator in place of SGLang): a deploy of a
changed spec is struck in the middle of that step. Then the test asks what serves by a real generation, looks at what is left on
the host and on the controller, checks exit code and message, and runs the same deploy again. A field is ok if

- the former or the new release answers again without anybody's help,
- the command ended with one of the exit codes that this fault may have, and said why,
- nothing of the command runs on by itself on the controller,
- the second run ended with exit code 0, the new release serves and is committed, and nothing half-made is left: no staging
  directory, no temporary file, no armed timer, no held lock, no process.

`former` or `new`: what served after the fault, before the second run. The number is the exit code of the struck command.
"""


def page(document: Mapping[str, Any]) -> str:
    """The whole text."""
    rows = document["rows"]
    good = sum(row["verdict"] == "ok" for row in rows)
    runs = document.get("runs", 1)
    when = f"Run of {document['at']}" if runs == 1 else f"Put together from {runs} runs, the last of {document['at']}"
    about = (
        f"{when}, {'the whole matrix' if document['whole'] else 'a part of the matrix'}: {good} of {len(rows)} faults ok."
        f" {document['commit'] or 'Working tree without a commit'}; {document['machine']}."
    )
    if runs > 1:
        about += " Of a fault that ran more than once the last result is shown; code and expectations may have changed meanwhile."
    parts = [HEAD, about, *_matrix(rows), *_single(rows), *_failed(rows), LIMITS]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _matrix(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    cells = {(row["step"], row["fault"]): _cell(row) for row in rows if row["step"]}
    if not cells:
        return []
    lines = ["| fault | " + " | ".join(Step) + " |", "|---" * (len(Step) + 1) + "|"]
    for fault in Fault:
        if any(name == fault for _, name in cells):
            lines.append(f"| {fault} | " + " | ".join(cells.get((step, fault), "not run") for step in Step) + " |")
    return ["\n".join(lines)]


def _cell(row: Mapping[str, Any]) -> str:
    told = f"{row['served'] or '?'}, {row['code']}, {row['seconds_to_end'] or 0:.0f} s"
    return told if row["verdict"] == "ok" else f"**failed** ({told})"


def _single(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    single = [row for row in rows if not row["step"]]
    if not single:
        return []
    lines = ["| other fault | verdict | served | exit code | what it said | second run |", "|---|---|---|---|---|---|"]
    for row in single:
        said = " ".join(row["message"].split())[:160].replace("|", "\\|") or "-"
        lines.append(
            f"| {row['fault']} | {row['verdict']} | {row['served'] or '-'} | {row['code']} | {said} | {row['again'] or '-'} |"
        )
    return ["\n".join(lines)]


def _failed(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    failed = [row for row in rows if row["verdict"] != "ok"]
    if not failed:
        return []
    return ["## Not ok", "\n".join(f"- {row['step']} {row['fault']}: {row['why']}" for row in failed)]


LIMITS = """\
## What these runs don't show

- A jump of the wall clock: lab hosts share this machine's clock, and a time namespace (time_namespaces(7)) moves only the
  monotonic and the boot clock. It wants a host with a kernel of its own.
- A power cut that loses written data: a lab host's disk is this machine's, whose page cache survives. That files are on the
  disk before a step counts (fsync) is therefore not shown here.
- Faults of GPUs and of a 600 GB load: the simulator loads 64 MiB in seconds.
"""


def merged(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Several runs as one: of a fault that ran twice, the last one counts."""
    rows = {(row["step"], row["fault"]): row for document in documents for row in document["rows"]}
    return {**documents[-1], "runs": len(documents), "whole": _is_whole(rows), "rows": list(rows.values())}


def _is_whole(ran: Container[tuple[str, str]]) -> bool:
    return all((case.step.value, case.fault.value) in ran for case in CASES)


def main(sources: Sequence[Path]) -> None:
    document = merged([json.loads(source.read_text()) for source in sources])
    KEPT.write_text(json.dumps(document, indent=1) + "\n")
    PAGE.write_text(page(document))


if __name__ == "__main__":
    main([Path(word) for word in sys.argv[1:]] or [PROJECT / "build" / "faults.json"])
