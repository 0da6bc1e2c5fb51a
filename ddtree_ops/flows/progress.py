"""What a flow tells the person who watches: plain events; the command line draws them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from ddtree_ops.ports import Clock, TaskResult
from ddtree_ops.report.deployment import DeploymentReport, Step, StepState
from ddtree_ops.units.readiness import Waiting


@dataclass(frozen=True)
class StepStarted:
    """A named step of a flow has begun."""

    host: str
    step: str


@dataclass(frozen=True)
class StepEnded:
    """A named step of a flow has ended."""

    host: str
    step: Step


@dataclass(frozen=True)
class TaskNews:
    """An Ansible task has begun or ended inside the current step."""

    host: str
    task: TaskResult


@dataclass(frozen=True)
class LoadNews:
    """Where the server's load stands."""

    host: str
    waiting: Waiting


@dataclass(frozen=True)
class HostWaits:
    """Of several hosts, this one has been looked at, has so many changes to make, and waits for its turn."""

    host: str
    changes: int


@dataclass(frozen=True)
class HostEnded:
    """Of several hosts, this one is through."""

    host: str
    report: DeploymentReport


News = StepStarted | StepEnded | TaskNews | LoadNews | HostWaits | HostEnded
Tell = Callable[[News], None]


class StepLog:
    """Runs named steps, times them, tells of them and keeps them for the report."""

    def __init__(self, host: str, tell: Tell, clock: Clock) -> None:
        self._host = host
        self._tell = tell
        self._clock = clock
        self._begun = clock.monotonic()
        self.steps: list[Step] = []

    @property
    def seconds(self) -> float:
        """Since the log was begun."""
        return self._clock.monotonic() - self._begun

    @contextmanager
    def step(self, name: str) -> Iterator[StepDetail]:
        """A step ends well, or as failed by the exception that leaves it."""
        self._tell(StepStarted(self._host, name))
        start, detail = self._clock.monotonic(), StepDetail()
        try:
            yield detail
        except BaseException as error:
            detail.state = StepState.FAILED
            detail.text = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error) or type(error).__name__
            raise
        finally:
            ended = Step(name, detail.state, self._clock.monotonic() - start, detail.text, detail.figures)
            self.steps.append(ended)
            self._tell(StepEnded(self._host, ended))


@dataclass
class StepDetail:
    """What a running step wants to be shown with its end."""

    text: str = ""
    state: StepState = StepState.OK
    figures: Mapping[str, object] = field(default_factory=dict)
