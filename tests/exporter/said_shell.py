"""A shell that answers what was recorded: by the first words of the command."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.exporter.target import Target
from ddtree_ops.ports import Command, Completed, HttpRequest, HttpResponse, Stream

RECORDED = Path(__file__).parent / "recorded"
LIST = "ddtree-server@30000.service loaded active running SGLang with DDTree on port 30000\n"


def recorded(name: str) -> str:
    return (RECORDED / name).read_text()


class SaidShell:
    """`answers`: output by the beginning of the command line; an OSError or error of ours is raised. Unknown: exit code 1."""

    host = "ct200"

    def __init__(self, answers: Mapping[str, str | Exception]) -> None:
        self.answers = dict(answers)
        self.asked: list[str] = []

    def run(self, command: Command) -> Completed:
        line = shlex.join(command.argv)
        self.asked.append(line)
        for beginning, answer in self.answers.items():
            if line.startswith(beginning):
                if isinstance(answer, Exception):
                    raise answer
                return Completed(command, 0, answer, "", 0.0)
        said = f"{command.argv[-1]}: No such file or directory"
        if 1 not in command.ok:
            raise HostCommandFailed(said)
        return Completed(command, 1, "", said, 0.0)

    @contextmanager
    def stream(self, argv: tuple[str, ...]) -> Iterator[Stream]:
        raise NotImplementedError
        yield


class NoHttp:
    def request(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse(0, b"", 0.0)


def target(**answers: str | Exception) -> tuple[Target, SaidShell]:
    """Keywords: show, list, date, journal, boots, files, current, server."""
    beginnings = {
        "show": "systemctl show",
        "list": "systemctl list-units",
        "date": "date",
        "journal": "journalctl",
        "boots": "env LC_ALL=C.UTF-8 cat",
        "files": "env LC_ALL=C.UTF-8 find",
        "current": "readlink",
        "server": "cat /opt/ddtree/current/server.json",
    }
    shell = SaidShell({beginnings[name]: answer for name, answer in answers.items()})
    return Target(shell, NoHttp()), shell
