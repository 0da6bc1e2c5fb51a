"""The roles' programs in processes of their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ddtree_ops.on_host import children

pytestmark = pytest.mark.processes


def run(program: str, *arguments: str) -> dict[str, object]:
    return children.finish(children.start(program, list(arguments)))


def test_a_program_runs_as_one_from_standard_input() -> None:
    program = (
        "from dataclasses import dataclass\nimport sys\n@dataclass\nclass A:\n    x: int\n"
        "if __name__ == '__main__':\n    print(sys.argv[1:], A(1))"
    )
    assert run(program, "a", "b") == {"output": "['a', 'b'] A(x=1)\n", "problem": None}


def test_what_a_program_does_to_itself_stays_in_its_process(tmp_path: Path) -> None:
    before = Path.cwd()
    assert run(f"import os; os.chdir({str(tmp_path)!r}); print(os.getcwd())")["output"] == f"{tmp_path}\n"
    assert Path.cwd() == before


@pytest.mark.parametrize("program", ["1 +", "raise ValueError", "import sys; sys.exit(3)", "import os; os.kill(os.getpid(), 9)"])
def test_a_program_that_fails_is_told(program: str) -> None:
    assert "ended with status" in str(run(program)["problem"])


def test_a_program_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "SECONDS", 0.2)
    child = children.start("import time; time.sleep(60)", [])
    assert children.finish(child) == {"output": "", "problem": "no end in 0 s"}
    os.waitpid(child.pid, 0)
