"""Progress in words: a step's end, a task's name, how far a load is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddtree_ops.report.deployment import StepState
from ddtree_ops.report.safe_text import one_line

if TYPE_CHECKING:
    from ddtree_ops.flows.progress import StepEnded, TaskNews
    from ddtree_ops.units.readiness import Waiting


def step_text(news: StepEnded) -> str:
    step = news.step
    mark = "" if step.state is not StepState.FAILED else "FAILED "
    return f"{step.name:<10} {step.seconds:6.1f} s  {mark}{one_line(step.detail)}".rstrip()


def task_name(news: TaskNews) -> str:
    return one_line(f"{news.task.role} : {news.task.task}" if news.task.role else news.task.task)


def load_text(waiting: Waiting) -> str:
    """`weights 41%  0:12 elapsed, about 0:20 left`."""
    percent = f" {waiting.percent}%" if waiting.percent is not None else ""
    left = f", about {clock(waiting.eta)} left" if waiting.eta is not None else ""
    return f"{one_line(waiting.segment)}{percent}  {clock(waiting.elapsed)} elapsed{left}"


def clock(seconds: float) -> str:
    """`0:07`, `6:52`, `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def bar(done: float | None, width: int = 24) -> str:
    """Rich markup of a share from 0 to 1; empty where there is none."""
    if done is None:
        return ""
    full = round(width * done)
    return f"[green]{'━' * full}[/][dim]{'━' * (width - full)}[/]"
