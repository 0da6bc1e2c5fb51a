"""The JSON that the look prints on a host, read with suspicion: the host may be damaged, or lie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ddtree_ops.errors import HostCommandFailed, Refused
from ddtree_ops.fleet import model_on_host, places, preflight
from ddtree_ops.fleet.finding import Finding
from ddtree_ops.fleet.model_on_host import ModelOnHost
from ddtree_ops.fleet.state import DeadMan, FileDrift, HostState, Leftover, LockHolder, Manifest, Releases
from ddtree_ops.ports import Completed
from ddtree_ops.units import systemctl
from ddtree_ops.units.systemctl import UnitState

_NOT_STARTED = (126, 127)  # what a shell, or sudo, says of a program that isn't there


_MOST_SECONDS = 10**10


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class _Unit(_Part):
    show: str
    drop_ins: tuple[str, ...]
    digest: str | None
    command: tuple[str, ...] | None
    release: str | None
    argv: tuple[str, ...] | None
    release_gone: str | None = None


class _Leftover(_Part):
    name: str
    age: float


class _Files(_Part):
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    access: dict[str, str] = {}
    more: int = 0
    problem: str | None = None


class _Lock(_Part):
    user: str = ""
    controller: str = ""
    pid: int = 0
    command: str = ""
    since: str = ""


class _DeadMan(_Part):
    release: str = Field(min_length=1)
    back_to: str | None = None
    armed_at: str = ""
    after_s: int = Field(default=0, ge=0, le=_MOST_SECONDS)
    invocation: str = ""
    deadline: float = Field(default=0.0, ge=-_MOST_SECONDS, le=_MOST_SECONDS)
    seconds_left: float | None = None


class _Manifest(_Part):
    """What of a manifest is worked with; the other keys are shown at most."""

    created: str
    argv: list[str] = []
    environment: dict[str, str] = {}
    wheels: dict[str, str] = {}


class _Program(_Part):
    output: str
    problem: str | None


class _UnitTexts(_Part):
    release: str | None = None
    installed: str | None = None


class Answer(_Part):
    """The whole document (schema ddtree-ops/look/v1)."""

    kind: str = Field(alias="schema", pattern=r"^ddtree-ops/look/v1$")
    links: dict[str, str]
    not_links: dict[str, str] = {}
    no_state: bool = False
    releases: dict[str, dict[str, Any] | None]
    leftovers: tuple[_Leftover, ...]
    # Files that anything may have damaged, which the next deploy replaces: they must not hide the rest.
    lock: dict[str, Any] | None
    dead_man: dict[str, Any] | None
    settings: dict[str, Any] | None
    units: tuple[_Unit, ...]
    units_problem: str | None
    boots: tuple[str, ...] = ()
    pins: dict[str, tuple[str, str]] | None = None
    unit_texts: _UnitTexts = _UnitTexts()
    files: dict[str, _Files | None]
    programs: dict[str, _Program]


def read(done: Completed, host: str) -> Answer:
    """Raises HostCommandFailed for no answer or a damaged one, Refused for a host without python3."""
    said = (done.stderr or done.stdout).strip().splitlines()
    if done.exit_code in _NOT_STARTED:
        text = f"{host}: python3 can't be started: {said[-1] if said else 'no such program'}"
        raise Refused(text, hint="install python3 on the host")
    if done.exit_code != 0:
        text = f"{host}: the look failed with exit code {done.exit_code}: {said[-1] if said else 'no output'}"
        raise HostCommandFailed(text, hint="see whether python3 works on the host", evidence=tuple(said[-20:]))
    try:
        answer = Answer.model_validate_json(done.stdout)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part)[:60] for part in first["loc"])
        text = f"{host}: the answer of the look is damaged{f' at {where}' if where else ''}: {first['msg']}"
        raise HostCommandFailed(text, hint="does the host's login print something of its own?") from error
    if answer.units_problem is not None:
        raise HostCommandFailed(f"{host}: systemd can't be asked: {answer.units_problem}", hint="systemctl status, on the host")
    return answer


def releases(answer: Answer) -> Releases:
    """Links, manifests and leftovers."""
    whole = [_manifest(name, content) for name, content in answer.releases.items()]
    found = sorted((one for one in whole if one), key=lambda one: one.created, reverse=True)
    damaged = sorted(answer.releases.keys() - {one.id for one in found})
    leftovers = tuple(Leftover(one.name, one.age) for one in answer.leftovers)
    current, last_good = answer.links.get("current"), answer.links.get("last-good")
    return Releases(current, last_good, tuple(found), damaged=tuple(damaged), leftovers=leftovers)


def _manifest(name: str, content: dict[str, Any] | None) -> Manifest | None:
    try:
        return Manifest(name, _Manifest.model_validate(content).created, content) if content is not None else None
    except ValidationError:
        return None


def host_state(answer: Answer, port: int) -> HostState:
    """The state of the unit that runs, whatever port it has; of the current release's, or the wanted port's, if none does."""
    found = releases(answer)
    current = found.manifest(found.current)
    unit, about = _choose(answer, systemctl.unit_name((current and current.port) or port))
    return HostState(
        current=found.current,
        last_good=found.last_good,
        manifests=found.manifests,
        unit=unit,
        running=about.release if about else None,
        running_gone=about.release_gone if about else None,
        not_links=answer.not_links,
        no_state=answer.no_state,
        unit_digest=about.digest if about else None,
        command=about.command if about else None,
        argv=about.argv if about else None,
        own_drop_ins=about.drop_ins if about else (),
        settings=answer.settings,
        files={name: FileDrift(**dict(files)) for name, files in answer.files.items() if files is not None},
        lock=_lock(answer.lock),
        dead_man=_dead_man(answer),
        damaged=found.damaged,
        leftovers=found.leftovers,
        pins=answer.pins,
        release_unit=answer.unit_texts.release,
        installed_unit=answer.unit_texts.installed,
    )


def _choose(answer: Answer, likely: str) -> tuple[UnitState, _Unit | None]:
    """The likely unit, unless it has no process and another one of ours has (an interrupted change of port)."""
    parsed = [(systemctl.parse_show(one.show), one) for one in answer.units]
    ours = [(state, one) for state, one in parsed if state.port is not None]
    first = next(((state, one) for state, one in ours if state.name == likely), None)
    if first is None or not first[0].main_pid:
        first = next(((state, one) for state, one in ours if state.main_pid), first)
    return first or (systemctl.parse_show(f"Id={likely}\nLoadState=not-found"), None)


def _lock(holder: dict[str, Any] | None) -> LockHolder | None:
    try:
        return LockHolder(**dict(_Lock.model_validate(holder))) if holder is not None else None
    except ValidationError:
        return LockHolder()


def _dead_man(answer: Answer) -> DeadMan | None:
    if answer.dead_man is None:
        return None
    states = [systemctl.parse_show(one.show) for one in answer.units]
    active = any(state.name == places.DEAD_MAN_TIMER and state.active is systemctl.Active.ACTIVE for state in states)
    try:
        orders = _DeadMan.model_validate(answer.dead_man).model_dump(exclude={"deadline"})
    except ValidationError:
        return DeadMan("", None, "", 0, "", None, timer_active=active, damaged=True)
    return DeadMan(**orders, timer_active=active)


def models(answer: Answer) -> dict[str, ModelOnHost]:
    """What the program of roles/model knows of the models' configs and sizes."""
    program = answer.programs.get("model")
    return model_on_host.parse(program.output) if program is not None and program.problem is None else {}


def findings(answer: Answer) -> Iterator[Finding]:
    """What the roles' programs say; one that failed is a finding, too: what it would have seen is not known."""
    for name, program in answer.programs.items():
        found = preflight.parse(program.output, program.problem)
        yield from preflight.shortened(found) if name == "model" else found


def gpu_mib(answer: Answer) -> int | None:
    """Memory of the smallest GPU in MiB, as the host's program saw it; None if it saw none."""
    program = answer.programs.get("preflight")
    listed = preflight.facts(program.output).get("gpus") if program is not None and program.problem is None else None
    sizes = [one.get("total_mib") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return min((int(size) for size in sizes if isinstance(size, int | float) and size > 0), default=None)
