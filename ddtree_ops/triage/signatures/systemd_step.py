"""systemd couldn't run the unit's program: a step before it failed (user, directory, credentials, name space, exec)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ddtree_ops.triage.block import Origin
from ddtree_ops.triage.blocks import systemd_words as words
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

_TIMED = (words.START_TIMEOUT, words.STOP_TIMEOUT, words.WATCHDOG, words.ASKED, words.TOO_QUICK)
_NOT_EXECUTABLE = "Exec format error"
_NO_FILE = "No such file or directory"


@dataclass(frozen=True, slots=True)
class _Step:
    """`name`: systemd's own (systemd.exec(5)); `path` and `error` where the child could say them."""

    name: str
    unit: str
    path: str | None = None
    error: str | None = None

    @property
    def certain(self) -> Confidence:
        """The program itself can exit with the same number: only the child's word is sure."""
        return Confidence.CERTAIN if self.error else Confidence.LIKELY


def match(context: Context) -> Finding | None:
    """By the failed step's name; how far the child came says the rest."""
    if context.block.origin is not Origin.SYSTEMD:
        return None
    step = _step(context)
    if step is None:
        return _not_loaded(context)
    if any(words.denied_program(line) for line in context.block.lines) and step.error is None:
        return None  # the program ran; it was refused another one (exec_permission)
    denial = next((line for line in context.block.lines if words.DENIED.match(line)), None)
    if denial or step.name in ("SELINUX_CONTEXT", "APPARMOR", "SMACK_PROCESS_LABEL"):
        return _access_control(step, denial)
    if step.name in ("USER", "GROUP"):
        return _user(step, _detail(context))
    if step.name == "CHDIR":
        return _workdir(step)
    if step.name == "EXEC":
        return _exec(step)
    return _other(step, _detail(context))


def _step(context: Context) -> _Step | None:
    lines = context.block.lines
    if any(pattern.match(line) for pattern in _TIMED for line in lines) and not any(words.STEP.match(line) for line in lines):
        return None
    for line in lines:
        found = words.STEP.match(line)
        if found:
            return _Step(found["step"], found["unit"], found["path"], found["error"].rstrip("."))
    for line in lines:
        found = words.EXITED.match(line)
        if found and words.own_step(found):
            return _Step(found["name"], found["unit"])
    for line in lines:
        found = words.STATUS.match(line)
        if found:
            return _Step(found["name"], "the unit")
    denied = next((line for line in lines if words.DENIED.match(line)), None)
    return _Step("EXEC", context.block.header or "a unit") if denied else None


def _detail(context: Context) -> str | None:
    """What the child said before it gave up."""
    found = next((match for line in context.block.lines if (match := words.DETAIL.match(line))), None)
    return found["said"] if found else None


def _user(step: _Step, detail: str | None) -> Finding:
    what = "group" if step.name == "GROUP" or (detail and "group" in detail) else "user"
    setting = "Group" if what == "group" else "User"
    return Finding(
        Kind.SYSTEMD_USER_MISSING,
        f"The {what} of {step.unit} doesn't exist",
        f"systemd could not take on the {what} that {setting}= of {step.unit} names: there is no such {what} on the host.",
        (f"Create it (systemd-sysusers, useradd --system), or correct {setting}= (systemctl cat {step.unit}).",),
        step.certain,
    )


def _workdir(step: _Step) -> Finding:
    denied = step.error == "Permission denied"
    why = "may not be entered by the unit's user" if denied else "doesn't exist"
    return Finding(
        Kind.SYSTEMD_WORKDIR,
        f"The working directory of {step.unit} " + ("is closed to it" if denied else "is missing"),
        f"systemd could not change to the directory that WorkingDirectory= of {step.unit} names: it {why}.",
        (f"Create it or correct WorkingDirectory= (systemctl cat {step.unit}); a dangling link counts as missing.",),
        step.certain,
    )


def _exec(step: _Step) -> Finding:
    path = step.path or "its program"
    if step.error is None:
        why, fix = "systemd could not execute it", f"Read what stands before (journalctl -u {step.unit})."
    elif step.error == _NO_FILE:
        why = f"{path} doesn't exist, or the interpreter in its first line doesn't"
        fix = (
            f"ls -l {path} and head -1 {path}; a virtual environment that was moved leaves links and first lines that"
            f" lead nowhere."
        )
    elif step.error == _NOT_EXECUTABLE:
        why = f"{path} is neither a program of this machine's kind nor a script with an interpreter in its first line"
        fix = f"file {path}; uname -m."
    else:
        why = (
            f"{path} may not be executed by the unit's user ({step.error}): its rights, a directory above it, or a"
            f" mount with noexec"
        )
        fix = (
            f"namei -l {path} shows every directory's rights; findmnt -T {path} the mount; journalctl -k denials of"
            f" SELinux or AppArmor."
        )
    return Finding(
        Kind.SYSTEMD_EXEC,
        f"systemd can't execute the program of {step.unit}",
        f"ExecStart= of {step.unit}: {why}.",
        (fix,),
        step.certain,
    )


def _access_control(step: _Step, denial: str | None) -> Finding:
    if denial is None or step.name != "EXEC":
        return _no_profile(step)
    selinux = (denial is None and step.name == "SELINUX_CONTEXT") or bool(denial and "avc:" in denial)
    who = "SELinux" if selinux else "AppArmor"
    path = step.path or _named(denial) or "the program"
    fix = (
        f"restorecon -v {path}, or give it a type that init may run: chcon -t bin_t (semanage fcontext, to last)."
        if selinux
        else "aa-status shows the profile; allow the path in it, or put it into complain mode (aa-complain)."
    )
    return Finding(
        Kind.SYSTEMD_EXEC_SELINUX,
        f"{who} forbids systemd to execute the program of {step.unit}",
        f"{who} denied systemd to execute {path}: the file's label or profile doesn't allow it; its rights may well be right.",
        (fix,),
        step.certain,
    )


def _no_profile(step: _Step) -> Finding:
    setting = {"SELINUX_CONTEXT": "SELinuxContext", "APPARMOR": "AppArmorProfile"}.get(step.name, "SmackProcessLabel")
    return Finding(
        Kind.SYSTEMD_EXEC_SELINUX,
        f"The access control profile of {step.unit} can't be used",
        f"systemd could not take on what {setting}= of {step.unit} names ({step.error or 'no reason given'}): it isn't loaded or"
        " doesn't exist.",
        (f"Load it (apparmor_parser -r, semodule -l), or correct {setting}=; a - before the name makes it optional.",),
        step.certain,
    )


def _named(denial: str | None) -> str | None:
    found = re.search(r"\b(?:path|name)=\"([^\"]{1,1000})\"", denial or "")
    return found[1] if found else None


def _other(step: _Step, detail: str | None) -> Finding:
    said = f" ({detail})" if detail else ""
    name = step.name.replace("_", " ").lower()
    return Finding(
        Kind.SYSTEMD_EXEC,
        f"systemd can't prepare the program of {step.unit}: {name}",
        f"The step {step.name} before ExecStart= of {step.unit} failed{said}.",
        (_ADVICE.get(step.name, f"systemctl cat {step.unit}; systemd.exec(5) explains {step.name}."),),
        step.certain,
    )


_ADVICE = {
    "CREDENTIALS": "A file that LoadCredential= names is missing or can't be read: ls -l the paths in the unit.",
    "NAMESPACE": (
        "A path of BindPaths=, ReadWritePaths= or RootDirectory= doesn't exist on the host; create it, or put - before it."
    ),
    "LIMITS": "A Limit...= of the unit is above what this machine allows.",
    "STATE_DIRECTORY": "Look at the owner of the directory below /var/lib that StateDirectory= names.",
}


def _not_loaded(context: Context) -> Finding | None:
    missing = next((found for line in context.block.lines if (found := words.NOT_FOUND.match(line))), None)
    detail = next((found for line in context.block.lines if (found := words.DETAIL.match(line))), None)
    if missing:
        unit, why = missing["name"], "there is no unit file of that name, or it can't be read"
        fix = f"systemctl cat {unit}; after a new file: systemctl daemon-reload; systemd-analyze verify shows mistakes."
    elif detail:
        unit, why = detail["unit"], detail["said"]
        fix = f"systemctl cat {unit}: what it names (EnvironmentFile=, slices, sockets) has to exist."
    else:
        return None
    return Finding(
        Kind.SYSTEMD_EXEC, f"systemd can't start {unit}", f"systemd could not start {unit}: {why}.", (fix,), Confidence.CERTAIN
    )


SIGNATURE = Signature(match)
