"""The schema of a stored report as pydantic models: what `failure-report.schema.json` says, checked by a library.

`tests/report/test_from_data.py` holds both to the same properties and words.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ddtree_ops.triage.block import Language, Relation
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, FailurePhase, Role, Verdict

# Words are compared by value, numbers and texts by type: strict everywhere else.
Word = Field(strict=False)
Time = Annotated[datetime | None, Field(strict=False)]


class Part(BaseModel):
    """Nothing but the named properties, each of its type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class StoredFrame(Part):
    file: str
    line: int | None
    function: str | None
    code: str | None = None
    in_app: bool = True
    source: list[str] | None = None


class StoredException(Part):
    type: str
    message: str
    relation: Annotated[Relation | None, Word]
    complete: bool
    frames: list[StoredFrame]
    parent: int | None = None
    language: Annotated[Language, Word] = Language.PYTHON
    notes: list[str] = []


class StoredProcess(Part):
    pid: int | None = None
    rank: str | None = None
    name: str | None = None


class StoredNumber(Part):
    value: int = 0
    expression: str = ""
    source: str = ""


class StoredEvidence(Part):
    cursor: str | None = None
    line: int | None = None
    time: Time = None
    text: str = ""


class StoredDevice(Part):
    gpu: int | None = None
    pci: str | None = None
    suspect: bool = False


class StoredThread(Part):
    id: str | None = None
    name: str | None = None
    current: bool = False
    frames: list[StoredFrame] = []


class StoredFailure(Part):
    fingerprint: str
    kind: Annotated[Kind, Word]
    title: str
    role: Annotated[Role, Word]
    phase: Annotated[FailurePhase, Word]
    first_seen: Time = None
    last_seen: Time = None
    count: int
    processes: list[StoredProcess]
    exceptions: list[StoredException]
    numbers: list[StoredNumber] = []
    evidence: list[StoredEvidence]
    cause: str | None
    fixes: list[str]
    confidence: Annotated[Confidence, Word]
    devices: list[StoredDevice] = []
    threads: list[StoredThread] = []


class StoredEvent(Part):
    time: Time = None
    kind: str = ""
    text: str = ""


class StoredReport(Part):
    schema_name: Literal["ddtree-ops/failure-report/v1"] = Field(alias="schema")
    host: str | None = None
    unit: str | None = None
    invocation: str | None = None
    since: Time = None
    until: Time = None
    lines_read: int = 0
    verdict: Annotated[Verdict, Word]
    failures: list[StoredFailure]
    events: list[StoredEvent]
