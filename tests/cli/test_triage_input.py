"""ddtree-ops triage on files: one unit of several, none left, damage in the middle."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ddtree_ops.cli.triage import command
from ddtree_ops.triage.entry import JournalEntry
from tests.triage.journals import plain, written
from tests.triage.test_diagnose import UP, crash

MINE, OTHER = "ddtree-server@30000.service", "other.service"


def journal(path: Path, *parts: list[JournalEntry], damage: bytes = b"") -> Path:
    def field(name: str, value: object) -> bytes:
        return b"" if value is None else f"{name}={value}\n".encode()

    blocks = [
        field("__CURSOR", one.cursor)
        + field("__REALTIME_TIMESTAMP", one.realtime_us)
        + field("_PID", one.pid)
        + field("_SYSTEMD_UNIT", one.unit)
        + field("_SYSTEMD_INVOCATION_ID", one.invocation_id)
        + field("MESSAGE", one.message)
        + b"\n"
        for part in parts
        for one in part
    ]
    path.write_bytes(blocks[0] + damage + b"".join(blocks[1:]))
    return path


def triage(path: Path, *args: str) -> tuple[int, str]:
    done = CliRunner().invoke(command, ["--file", str(path), *args], standalone_mode=False)
    assert done.exception is None
    return done.return_value, done.output


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """Two units: ours serves, the other one crashes."""
    crashed = written([*UP, *crash(60, " TP0", "ValueError: of the other")], unit=OTHER)
    return journal(tmp_path / "journal", written(UP, unit=MINE), crashed)


@pytest.mark.parametrize(
    ("unit", "code", "verdict", "lines"),
    [
        (MINE, 0, "no_failure", 5),
        ("ddtree-server@30000", 0, "no_failure", 5),
        (OTHER, 4, "failure", 10),
        ("other", 4, "failure", 10),
        ("nobody", 10, "inconclusive", 0),
    ],
)
def test_a_unit_is_chosen(both: Path, unit: str, code: int, verdict: str, lines: int) -> None:
    got, output = triage(both, "--unit", unit, "--format", "json")
    report = json.loads(output)
    assert (got, report["verdict"], report["lines_read"]) == (code, verdict, lines)
    assert report["unit"] == (unit if "." in unit else f"{unit}.service")


def test_without_a_unit_all_is_read(both: Path) -> None:
    assert triage(both)[0] == 4


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_no_entry_of_the_unit_is_said(both: Path, form: str) -> None:
    code, output = triage(both, "--unit", "nobody", "--format", form)
    plainly = output.replace("\\", "")
    assert code == 10
    assert "no entry of nobody.service in the input; there are entries of" in " ".join(plainly.split())
    assert OTHER in plainly


def test_an_empty_file_has_no_entry_either(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    code, output = triage(tmp_path / "empty", "--unit", "nobody")
    assert code == 10
    assert "no entry of nobody.service" in output


def test_entries_without_a_unit_stay(tmp_path: Path) -> None:
    nameless = plain("[2026-11-29 18:38:31] a record of who knows what")
    path = journal(tmp_path / "journal", written(UP, unit=MINE), nameless, written(UP, unit=OTHER))
    assert json.loads(triage(path, "--unit", MINE, "--format", "json")[1])["lines_read"] == len(UP) + 1


@pytest.mark.parametrize("args", [(), ("--unit", MINE)])
@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_damage_is_said_and_what_follows_is_read(tmp_path: Path, args: tuple[str, ...], form: str) -> None:
    entries = written([*UP, *crash(60, " TP0", "ValueError: behind the damage")], unit=MINE)
    path = journal(tmp_path / "journal", written(UP, unit=OTHER), entries, damage=b"\x00\xff" * 5000 + b"\nx\n")
    code, output = triage(path, *args, "--format", form)
    assert code == 4
    assert "behind the damage" in output
    assert "could not be read here" in " ".join(output.replace("\\", "").split())
