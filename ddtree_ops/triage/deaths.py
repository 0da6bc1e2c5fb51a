"""Deaths without a traceback: only what the service manager, the watchdog or the other ranks say is known."""

from __future__ import annotations

import signal
from dataclasses import dataclass, replace

from ddtree_ops.triage.block import Evidence
from ddtree_ops.triage.fingerprint import fingerprint
from ddtree_ops.triage.hidden import init_hang_of
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.lines import evidence
from ddtree_ops.triage.model import Confidence, Failure, FailurePhase, Process, Role
from ddtree_ops.triage.run import Run
from ddtree_ops.triage.signatures import match_words
from ddtree_ops.triage.signatures.peer_rank_failed import says_vanished


@dataclass(frozen=True, slots=True)
class _Death:
    kind: Kind
    title: str
    cause: str | None
    fixes: tuple[str, ...]
    confidence: Confidence
    processes: tuple[Process, ...] = ()
    name: str = ""  # what its fingerprint is made of, if not the kind and the phase


_SHELL_BASE = 128  # a shell's exit status of a process that a signal ended is 128 and its number (bash(1), EXIT STATUS)
_LOADING = frozenset(
    {FailurePhase.UNKNOWN, FailurePhase.DISTRIBUTED_INIT, FailurePhase.WEIGHTS, FailurePhase.KV_CACHE, FailurePhase.ARGUMENTS}
)
_UNKNOWN_FIXES = ("Read the lines before the exit (ddtree-ops logs), and the kernel's log of that time (journalctl -k).",)
_REFUSED_FIXES = ("Mend what the launcher names and deploy again; systemd doesn't start a refused configuration again.",)


def unexplained_death(run: Run, *, lost_peers: bool) -> Failure | None:
    """The root failure of a run that left no exception of its own, or None if it didn't die."""
    death = _by_init_hang(run) or _by_manager(run) or _by_lost_child(run, lost_peers)
    if death is None:
        death = _by_silence(run) if lost_peers else _by_words(run) or _by_exit(run)
    return _failure(death, run) if death else None


def words_tell(run: Run) -> bool:
    """Whether the launcher's words say more than any exception that something survived: a crash may well be its doing."""
    words = run.last_words
    return words is not None and (words.how != "crashed" or match_words(words.reason) is not None)


def _by_init_hang(run: Run) -> _Death | None:
    found = init_hang_of(run)
    if found is None:
        return None
    processes = tuple(run.process(pid, None, run.names.get(pid)) for pid in run.ranks)
    return _Death(found.kind, found.title, found.cause, found.fixes, found.confidence, processes)


def _by_manager(run: Run) -> _Death | None:
    if run.fate.oom_killed:
        return _Death(
            Kind.HOST_OOM,
            "Killed by the kernel's OOM killer",
            "The host, or the unit's cgroup, ran out of memory and the kernel killed a process of the unit.",
            ("Raise the unit's MemoryMax= or the host's memory.", "Use less CPU offload and fewer loading threads."),
            Confidence.CERTAIN,
        )
    if run.fate.start_timed_out:
        return _Death(
            Kind.SYSTEMD_START_TIMEOUT,
            "systemd gave up waiting for the start",
            "The unit didn't become ready within TimeoutStartSec= and systemd ended it.",
            ("Raise the load budget, or find out why the load took longer than before.",),
            Confidence.CERTAIN,
        )
    return None


def _by_lost_child(run: Run, lost_peers: bool) -> _Death | None:
    """The launching process says which child it lost and how.

    SGLang's watchdog names its process id, older ones its rank (`Rank 0 scheduler is dead`, `Exit code: -9`); the code is
    minus a signal's number (multiprocessing.Process.exitcode). What the server killed itself is no cause.
    """
    if _server_ended_itself(run):
        return None
    spoken = {item.process.pid for item in run.observations}
    several = lost_peers or len(run.ranks) > 1
    for pid, code in run.fate.dead_children.items():
        if pid in spoken:
            continue
        process = run.process(pid, None, run.names.get(pid))
        death = _ended_by(-code, f"Rank {process.rank}" if process.rank else f"Process {pid}", process, run, several=several)
        if death:
            return death
    rank, code_text = run.fate.dead_rank
    if code_text is None:
        return None
    number = int(code_text)
    who = f"Rank {rank}" if rank else "A child process"
    process = Process(None, f"Rank {rank}" if rank else None, None)
    return _ended_by(-number if number < 0 else number - _SHELL_BASE, who, process, run, several=several)


def _server_ended_itself(run: Run) -> bool:
    """Whether the first thing that the log says of the end is that the server ends its children itself."""
    kinds = [event.kind for event in run.events if event.kind in ("kill_process_tree", "child_died", "rank_dead")]
    return kinds[:1] == ["kill_process_tree"]


def _ended_by(number: int, who: str, process: Process, run: Run, *, several: bool) -> _Death | None:
    processes = (process,) if process.pid or process.rank else ()
    if number == signal.SIGSEGV:
        fixes = ("Look at the core dump (coredumpctl info).",)
        return _Death(Kind.NATIVE_SEGFAULT, f"{who} crashed in native code", None, fixes, Confidence.UNKNOWN, processes)
    if number != signal.SIGKILL:
        return None
    if run.phase in _LOADING:
        return _Death(
            Kind.HOST_OOM,
            f"{who} was killed while the model loaded, most likely by the kernel's OOM killer",
            f"{who} ended by SIGKILL while it loaded. Nothing in this log says who sent it; while weights are read it is nearly"
            " always the kernel, because the host or the unit's cgroup ran out of memory.",
            (
                "Look in the kernel's log of that time for `oom-kill` (journalctl -k): it names the victim and the limit.",
                "Raise the unit's MemoryMax= or the host's memory; use less CPU offload and fewer loading threads.",
            ),
            Confidence.LIKELY,
            processes,
        )
    kind = Kind.PEER_RANK_KILLED if several and process.pid else Kind.SIGKILL_UNKNOWN
    return replace(_killed(kind, who, process, Confidence.CERTAIN if process.pid else Confidence.LIKELY), processes=processes)


def _by_silence(run: Run) -> _Death | None:
    """The ranks that lost a peer speak, so does one that raises: who was killed is among those without a last word."""
    messages = [item.message for seen in run.observations for item in seen.block.exceptions]
    if not any(says_vanished(message) for message in messages):
        return None
    spoken = {item.process.pid for item in run.observations}
    silent = [pid for pid in run.ranks if pid not in spoken and pid not in run.fate.alive]
    if not silent:
        return None
    everyone_known = len(run.ranks) >= (run.facts.integer("tp_size") or 1)
    processes = tuple(run.process(pid, None, run.names.get(pid)) for pid in silent)
    names = ", ".join(item.rank or str(item.pid) for item in processes)
    if len(processes) == 1 and everyone_known:
        return _killed(Kind.PEER_RANK_KILLED, f"Rank {names}", processes[0], Confidence.LIKELY)
    return replace(_killed(Kind.PEER_RANK_KILLED, f"One of the ranks {names}", processes[0], Confidence.LOW), processes=processes)


def _killed(kind: Kind, who: str, process: Process, confidence: Confidence) -> _Death:
    if confidence is Confidence.CERTAIN:
        said, ended = "its exit code says SIGKILL", "something outside of the server sent that"
    else:
        said, ended = "another rank lost its connection", "it was killed from outside, or crashed in native code"
    return _Death(
        kind,
        f"{who} was killed from outside",
        f"{who} vanished without a word ({said}): {ended}.",
        ("Look for the OOM killer in the kernel's log (journalctl -k), and for whoever may have killed it.",),
        confidence,
        (process,),
    )


def _by_words(run: Run) -> _Death | None:
    """The launcher saw how the run ended; its words are the title, and a cause only where a signature knows them."""
    words = run.last_words
    if words is None:
        return None
    known = match_words(words.reason)
    if known:
        return _Death(known.kind, known.title, known.cause, known.fixes, known.confidence, name=f"{known.kind}\n{known.title}")
    fixes = _REFUSED_FIXES if words.how == "refused" else _UNKNOWN_FIXES
    return _Death(Kind.UNKNOWN, words.text, None, fixes, Confidence.UNKNOWN, name=words.text)


def _by_exit(run: Run) -> _Death | None:
    if not run.fate.died:
        return None
    if run.fate.exit is None:
        return _Death(Kind.UNKNOWN, "A rank failed and left no traceback", None, _UNKNOWN_FIXES, Confidence.UNKNOWN)
    code, status, name = run.fate.exit
    what = f"code={code}, status={status}" + (f"/{name}" if name else "")
    if code in ("killed", "dumped") and name == "SEGV":
        return _Death(Kind.NATIVE_SEGFAULT, f"Crashed in native code ({what})", None, _UNKNOWN_FIXES, Confidence.UNKNOWN)
    # The server ends itself with SIGKILL after a crash of a rank: then the signal says nothing about what happened.
    own = any(event.kind in ("sigquit", "kill_process_tree") for event in run.events)
    kind = Kind.SIGKILL_UNKNOWN if code == "killed" and name == "KILL" and not own else Kind.UNKNOWN
    return _Death(kind, f"Died without an error in its log ({what})", None, _UNKNOWN_FIXES, Confidence.UNKNOWN)


def _failure(death: _Death, run: Run) -> Failure:
    lines: list[Evidence] = [evidence(run.last_lines[item.pid]) for item in death.processes if item.pid in run.last_lines]
    lines += [run.last_words.evidence] if run.last_words else []
    lines += run.fate.lines
    phase = run.observations[0].phase if run.observations else run.phase  # where the ranks that lost it were
    first = next((item.time_us for item in lines if item.time_us is not None), None)
    return Failure(
        fingerprint=fingerprint((), death.name or f"{death.kind}\n{phase}"),
        kind=death.kind,
        title=death.title,
        role=Role.ROOT,
        phase=phase,
        first_us=first,
        last_us=lines[-1].time_us if lines else None,
        count=1,
        processes=death.processes,
        exceptions=(),
        numbers=(),
        evidence=tuple(lines[:8]),
        cause=death.cause,
        fixes=death.fixes,
        confidence=death.confidence,
    )
