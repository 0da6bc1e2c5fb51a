"""roles/model/files/model_list.py: what sha256sum(1) itself writes is read, and what can't be used is named truly."""

from __future__ import annotations

import json
import runpy
import subprocess
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).resolve().parents[2] / "roles" / "model" / "files" / "model_list.py"
NAMES: dict[str, Any] = runpy.run_path(str(PROGRAM))
A, B = "a" * 64, "b" * 64


def names(text: str) -> list[str]:
    return [one.path for one in NAMES["parse"](text)]


@pytest.mark.processes
@pytest.mark.parametrize("options", [(), ("--tag",), ("--binary",)])
def test_names_as_sha256sum_writes_them(tmp_path: Path, options: tuple[str, ...]) -> None:
    awkward = ["back\\slash", "n\\n", "two  blanks ", "(x) = y", " first"]
    for name in awkward:
        (tmp_path / name).write_text(name)
    argv = ("sha256sum", *options, "--", *awkward)
    listed = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert names(listed) == awkward


@pytest.mark.processes
def test_a_name_of_several_lines_is_decoded_and_not_accepted(tmp_path: Path) -> None:
    (tmp_path / "a\nb").write_text("")
    listed = subprocess.run(("sha256sum", "a\nb"), cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert NAMES["problem"](listed) == r"line 1: the name 'a\nb' has characters that can't be shown"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{A}  x\0{B}  y\0", "sha256sum -z"),
        (f"{A}  x\n{B}  ./x\n", "line 1 and line 2 contradict each other: x has another sha256 in each"),
        (f"\\{A}  x\\t\n", r"line 1: sha256sum has no escape '\\t'"),
        (f"\\{A}  x\\\n", "line 1: sha256sum has no escape"),
        (f"{A} x\n", "line 1 is no line of sha256sum"),
        (f"{A}  a/../../x\n", "line 1: the path 'a/../../x' leads out of the model"),
        (f"{A}  .\n", "leads out of the model"),
        (json.dumps([{"path": "x", "sha256": A}, {"path": "x", "sha256": B}]), "entry 1 and entry 2 contradict each other"),
        (json.dumps([{"path": "x", "sha256": A}, {"path": "x", "sha256": A, "size": 1}]), "another size"),
        (f'{{"x": "{A}", "x": "{B}"}}', "the name 'x' stands there twice"),
        (f'{{"x": {{"sha256": "{A}", "size": 1e400}}}}', "'x': its size is no whole number"),
        (f'{{"x": {{"sha256": "{A}", "size": NaN}}}}', "its size is no whole number"),
        (f'{{"x": {{"sha256": "{A}", "size": true}}}}', "its size is no whole number"),
        (f'{{"x": {{"sha256": "{A}", "size": -1}}}}', "its size is no whole number"),
        (f'{{"x": {{"sha256": "{A}", "size": {"9" * 30}}}}}', "its size is no whole number"),
        ('{"a":' * 100_000, "nested too deeply"),
        ('[{"path": ["x"], "sha256": "1"}]', "expected JSON that names files"),
        ("[null]", "expected JSON that names files"),
        ('{"x": {"sha256": null}}', "expected JSON that names files"),
        ('{"x": "\\ud800"}', "is no sha256"),
        (f'{{"\\ud800": "{A}"}}', "can't be shown"),
        ("{", "is no JSON"),
        ("# nothing\n", "names no files"),
        ("", "names no files"),
    ],
)
def test_what_can_not_be_used_is_said_truly(text: str, says: str) -> None:
    problem = NAMES["problem"](text)
    assert says in str(problem)
    str(problem).encode()


def test_repeats_that_agree_a_mark_and_other_line_ends_are_read() -> None:
    assert names(f"\ufeff{A}  x\r\n{A.upper()} *./x\r\n# z\r\n\r\n{B}  y\u00a0z\n".replace("\u00a0", "-")) == ["x", "y-z"]
