"""The look, whole: start what takes long, look at the rest meanwhile, then collect. `run()` never fails and never hangs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from . import (
    base,
    gpu_health,
    gpu_processes,
    gpus,
    kernel_log,
    links,
    machine,
    pci,
    processes,
    smi,
    stack,
    storage,
    toolchain,
    units,
)
from .catalogue import finding
from .finding import ERROR, Finding, merged, one_line
from .host import Host, Pending, Started
from .running import Answer
from .wanted import Wanted, read

FULL = ("nvidia-smi", "-q", "-x")
PERSISTENCED = "nvidia-persistenced.service"
_SM_103 = "10.3"


class Look:
    """One look at a host for one release."""

    def __init__(self, want: Wanted, host: Host) -> None:
        self.want, self.host = want, host
        self.found: list[Finding] = []
        self.report: smi.Report | None = None
        self.scan: processes.Scan | None = None
        # Before any thread: a fork takes along only the thread that asks for it.
        self._aside = {name: host.aside(work) for name, work in self._work().items()}
        self._started = {argv: host.start(*argv, seconds=seconds) for argv, seconds in self._commands().items()}

    def _work(self) -> dict[str, Callable[[], Any]]:
        want, host = self.want, self.host
        return {
            "processes": lambda: processes.scan(host, want.port),
            "storage": lambda: storage.look(want, host),
            "stack": lambda: stack.look(want, host),
            "toolchain": lambda: toolchain.look(want, host),
        }

    def _commands(self) -> dict[tuple[str, ...], float]:
        """Argument tuples with the seconds that they get."""
        want, smi_seconds = self.want, 15.0
        about_gpus = (gpus.QUERY, FULL, *links.commands(want.gpus)) if want.gpus else ()
        others = (base.python_command(want.python), base.SYSTEMD, units.command(PERSISTENCED, links.FABRIC_MANAGER))
        return {
            **dict.fromkeys(about_gpus, smi_seconds),
            **dict.fromkeys(others, smi_seconds),
            kernel_log.COMMAND: kernel_log.SECONDS,
        }

    def run(self) -> list[Finding]:
        """All findings; a check that fails is one, too."""
        self._guard("processes", self._processes)
        for part in (self._gpus, self._base, self._machine, self._storage, self._stack, self._kernel_log, self._toolchain):
            self._guard(part.__name__.strip("_"), part)
        return merged(self.found)

    def _guard(self, name: str, part: Callable[[], Iterable[Finding]]) -> None:
        try:
            self.found.extend(part())
        except Exception as error:
            text = f"the check of {name} failed: {type(error).__name__}: {error}"
            self.found.append(finding("preflight", text, "every check ends", severity=ERROR))

    def answer(self, argv: tuple[str, ...]) -> Answer:
        """What a program that was started has said."""
        started: Started = self._started[argv]
        return started.answer()

    def beside(self, name: str) -> Any:
        """What work aside has answered; None with a finding where it hangs."""
        pending: Pending = self._aside[name]
        answer = pending.answer()
        if "problem" in answer:
            text = f"the look at {name} gave nothing: {one_line(str(answer['problem']), 160)}"
            self.found.append(finding("preflight", text, "every check ends"))
        return answer.get("value")

    def _processes(self) -> Iterator[Finding]:
        value = self.beside("processes")
        if value is not None:
            self.scan = processes.read(value)
            yield from base.port(self.want.port, self.scan, self.host)

    def _gpus(self) -> Iterator[Finding]:
        want = self.want.gpus
        if want is None:
            return
        csv, full = self.answer(gpus.QUERY), self.answer(FULL)
        try:
            self.report = smi.report(full.out)
        except ValueError as error:
            # Where not even the short question is answered, `gpus` says it.
            if csv.status == 0:
                said = one_line(full.out, 160) or str(error)
                yield finding("gpu_query", f"nvidia-smi -q -x: {said}", "a report", evidence=[full.said(said)])
        yield from gpus.check(self.want, csv, self.report, self.host)
        if self.report is None:
            return
        services = units.read(self.answer(units.command(PERSISTENCED, links.FABRIC_MANAGER)))
        yield from gpu_health.check(self.report, services.get(PERSISTENCED).active == "active")
        yield from gpu_processes.check(want, self.report, self.scan, self.host)
        answers = {argv: self.answer(argv) for argv in links.commands(want)}
        nvlsm = self.scan is not None and "nvlsm" in self.scan.names
        yield from links.check(want, self.report, answers, services, nvlsm)
        yield from pci.check(want, self.report, self.host)

    def _base(self) -> Iterator[Finding]:
        yield from base.python(self.answer(base.python_command(self.want.python)))
        yield from base.systemd(self.answer(base.SYSTEMD))
        yield from base.clock(self.want.now, self.host.now())

    def _machine(self) -> Iterator[Finding]:
        running = {one.pid for gpu in self.report.gpus for one in gpu.processes} if self.report else set()
        ranks = {pid for pid, _, _ in self.scan.ranks} if self.scan else set()
        serves = any(processes.is_ours(self.host, pid) for pid in running | ranks)
        yield from machine.check(self.want, self.host, serves=serves)

    def _storage(self) -> Iterator[Finding]:
        seen = self.beside("storage")
        return storage.check(self.want, seen) if seen else iter(())

    def _stack(self) -> Iterator[Finding]:
        seen = self.beside("stack")
        return stack.check(self.want, seen) if seen else iter(())

    def _kernel_log(self) -> Iterator[Finding]:
        capability = self.want.gpus.compute_cap if self.want.gpus else ""
        return kernel_log.check(self.answer(kernel_log.COMMAND), capability == _SM_103)

    def _toolchain(self) -> Iterator[Finding]:
        seen = self.beside("toolchain")
        return toolchain.check(self.want, self.host, seen) if seen else iter(())

    def facts(self) -> dict[str, Any]:
        """What others may count with: driver and GPUs, memory in MiB."""
        if self.report is None:
            return {}
        return {
            "driver": self.report.driver,
            "cuda": self.report.cuda,
            "gpus": [
                {
                    "index": gpu.index,
                    "name": gpu.text("product_name"),
                    "total_mib": gpu.number("fb_memory_usage/total"),
                    "reserved_mib": gpu.number("fb_memory_usage/reserved"),
                    "used_mib": gpu.number("fb_memory_usage/used"),
                }
                for gpu in self.report.gpus
            ],
        }


def main(argument: str) -> None:
    """Print `{"findings": [...], "facts": {...}}`, and end: what hangs is left behind, not waited for."""
    look = Look(read(argument), Host())
    found = look.run()
    json.dump({"findings": [vars(one) for one in found], "facts": look.facts()}, sys.stdout)
    sys.stdout.flush()
    os._exit(0)
