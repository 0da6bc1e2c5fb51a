"""One lab for all tests on hosts: booted at the first test that needs it, cleaned at the end whatever happens."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.lab import Lab
from tests.hosts.lanes import Lanes, place

PROJECT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
COMMAND_TIMEOUT = 900.0


def pytest_configure() -> None:
    # Ignored where a shell runs us in the background, and so by every command that we start and interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs real hosts."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.hosts)
    items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Lanes:
    """Asked of where pytest was given this folder by name, as `make hosts` does."""
    config.option.loadscopereorder = False
    return Lanes(config, log)


@pytest.fixture(scope="session")
def empty_lab() -> Iterator[Lab]:
    """A lab of their own, beside any demo lab, for tests that boot hosts of their own; each pytest-xdist worker has one."""
    lab = Lab("-".join(("test", os.environ.get("PYTEST_XDIST_WORKER", "main"))))
    lab.down()  # what a killed run may have left
    try:
        yield lab
    finally:
        lab.down()


@pytest.fixture(scope="session")
def lab(empty_lab: Lab) -> Lab:
    """The same with hosts ct200 and b300."""
    empty_lab.up("ct200", "b300=b300-8x")
    return empty_lab


@pytest.fixture
def lab_inventory(lab: Lab, tmp_path: Path) -> Path:
    """inventories/lab for the test lab: the demo lab's ssh_config replaced by ours."""
    target = tmp_path / "inventory"
    shutil.copytree(PROJECT / "inventories" / "lab", target)
    for path in target.rglob("*.yml"):
        text = path.read_text()
        path.write_text(text.replace("/var/lib/ddtree-lab/demo", str(lab.state)))
    return target


@dataclass(frozen=True)
class Ran:
    """A ddtree-ops command that ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> Any:
        """The JSON on stdout; nothing else may stand there."""
        return json.loads(self.stdout)


@dataclass(frozen=True)
class Running:
    """A ddtree-ops command that runs beside the test."""

    process: subprocess.Popen[str]
    said: list[str]

    def until(self, words: str) -> None:
        """Read its progress until a line holds these words."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if words in line:
                return
        raise AssertionError(f"never said {words!r}: {self.said}")

    def end(self) -> Ran:
        stdout, stderr = self.process.communicate(timeout=COMMAND_TIMEOUT)
        return Ran(self.process.returncode, stdout, "".join(self.said) + stderr)


@dataclass(frozen=True)
class Tool:
    """The real `ddtree-ops` command with an inventory."""

    inventory: Path

    @contextmanager
    def start(self, *args: str) -> Iterator[Running]:
        """Run it beside the test; killed at the end if it still runs."""
        with subprocess.Popen(
            [str(Path(sys.executable).parent / "ddtree-ops"), *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "DDTREE_OPS_INVENTORY": str(self.inventory)},
        ) as process:
            try:
                yield Running(process, [])
            finally:
                process.kill()

    def __call__(self, *args: str, env: Mapping[str, str] | None = None, timeout: float = COMMAND_TIMEOUT) -> Ran:
        done = subprocess.run(
            [str(Path(sys.executable).parent / "ddtree-ops"), *args],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env={**os.environ, "DDTREE_OPS_INVENTORY": str(self.inventory), **(env or {})},
        )
        print(f"$ ddtree-ops {' '.join(args)}  -> {done.returncode}\n{done.stdout}{done.stderr}")  # noqa: T201
        return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def tool(lab_inventory: Path) -> Tool:
    return Tool(lab_inventory)
