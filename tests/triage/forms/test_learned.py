"""Headers that are known by the lines before, and whose lines they are where only text tells."""

from __future__ import annotations

from ddtree_ops.report.entries import triage_bytes
from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.triage.forms.read import read_log
from ddtree_ops.triage.model import NOTHING_LEFT, Verdict
from tests.hang import ends


def read(*lines: str) -> list[JournalEntry]:
    return list(read_log(["\n".join(lines).encode() + b"\n"]))


def test_a_service_without_a_number_is_known_from_the_first_line_on() -> None:
    found = read("sglang  | a", "sglang  |   indented", "sglang  | ", "router  | its bar stands in the same column")
    assert [entry.message for entry in found] == ["a", "  indented", "", "its bar stands in the same column"]
    assert {entry.hostname for entry in found} == {"sglang", "router"}


def test_a_service_that_speaks_later_is_known_by_its_second_line() -> None:
    found = read("Attaching to server", "server  | a", "server  | b", "other words", "server  | c")
    assert [entry.message for entry in found][1:] == ["server  | a", "b", "other words", "c"]


def test_a_table_is_no_log_of_services() -> None:
    table = ("rows:", "name   | size", "-------+-----", "weights   | 7", "a     | 8")
    assert [entry.message for entry in read(*table)] == list(table)
    assert {entry.hostname for entry in read(*table)} == {None}


def test_a_host_without_times_is_known_after_its_manager_spoke() -> None:
    found = read("gpu-a python3[7]: a", "gpu-a systemd[1]: Started x.service.", "gpu-a python3[7]: b", "list item[0]: c")
    assert [(entry.pid, entry.message) for entry in found] == [
        (None, "gpu-a python3[7]: a"),
        (1, "Started x.service."),
        (7, "b"),
        (None, "list item[0]: c"),
    ]


def test_a_long_line_without_a_header_comes_to_an_end() -> None:
    lines = ["a" * 1_000_000, "a " * 500_000, "a  | " * 200_000, "\x1b[1m" * 200_000, "1" * 1_000_000, "ä" * 500_000]
    with ends():
        read(*lines)


AT = "2026-04-02T03:04:0{}+00:00 gpu-a "
TWO = (
    "systemd[1]: Started a@1.service - A.",
    "python3[10]: Traceback (most recent call last):",
    "python3[10]: OSError: [Errno 28] No space left on device",
    "systemd[1]: a@1.service: Main process exited, code=exited, status=1/FAILURE",
    "systemd[1]: a@1.service: Failed with result 'exit-code'.",
    "systemd[1]: Started a@2.service - A.",
    "python3[11]: ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 1): address already in use",
    "systemd[1]: a@2.service: Main process exited, code=exited, status=1/FAILURE",
)


def kinds(lines: tuple[str, ...], unit: str) -> list[str]:
    text = "\n".join(AT.format(number) + line for number, line in enumerate(lines)) + "\n"
    return [item.kind.value for item in triage_bytes([text.encode()], only_unit=unit).failures]


def test_what_came_before_the_units_first_start_is_of_others() -> None:
    assert kinds(TWO, "a@2.service") == ["port_in_use"]


def test_a_unit_that_ran_already_keeps_what_came_before_its_first_word() -> None:
    assert kinds((*TWO[1:3], *TWO[7:]), "a@2.service")[0] == "disk_full"


def test_a_unit_that_is_not_there_is_said_and_what_names_no_unit_is_read() -> None:
    text = "\n".join(AT.format(number) + line for number, line in enumerate(TWO)) + "\n"
    report = triage_bytes([text.encode()], only_unit="b.service")
    assert report.verdict is Verdict.FAILURE
    assert [event.kind for event in report.events if "b.service" in event.text] == [NOTHING_LEFT]
