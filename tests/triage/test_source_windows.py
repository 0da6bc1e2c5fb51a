"""Source windows: which files are asked for, what is shown of them, and that it is said when they aren't what ran."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddtree_ops.report.entries import triage_entries
from ddtree_ops.triage.block import Frame
from ddtree_ops.triage.model import Failure
from ddtree_ops.triage.source_windows import FILES, SOURCE_DIFFERS, Installed, candidates, wanted_files, window, with_source
from tests.triage.journals import recorded

SITE = "/opt/ddtree/current/venv/lib/python3.12/site-packages/"
REGISTRY = f"{SITE}sglang/srt/model_executor/cuda_graph_buffer_registry.py"


def root() -> Failure:
    found = triage_entries(recorded("tp2_ddtree_shape")).root
    assert found
    return found


def installed(lines: dict[int, str], length: int = 500) -> bytes:
    return "".join(f"{lines.get(number, f'line {number}')}\n" for number in range(1, length + 1)).encode()


RIGHT = installed({39: "        torch._foreach_copy_(group_dsts, group_srcs)", 52: "    _foreach_copy(group_dsts, group_srcs)"})


def test_the_raising_files_come_first_and_libraries_are_not_asked_for() -> None:
    files = wanted_files(root())
    assert files[0] == REGISTRY
    assert all("/sglang/" in file for file in files)
    assert len(set(files)) == len(files)


@pytest.mark.parametrize(
    "file", ["/etc/shadow", "relative.py", "/opt/../etc/x.py", "<string>", "/opt/a\x1b.py", "/proc/self/environ"]
)
def test_a_name_that_only_the_log_made_up_is_never_read(file: str) -> None:
    exception = replace(root().exceptions[0], frames=(Frame(file, 3, "f"),))
    assert wanted_files(replace(root(), exceptions=(exception,))) == ()


def test_the_number_of_files_is_bounded() -> None:
    frames = tuple(Frame(f"/opt/{index}.py", 3, "f") for index in range(1000))
    exception = replace(root().exceptions[0], frames=frames)
    files = wanted_files(replace(root(), exceptions=(exception,)))
    assert len(files) == FILES
    assert files[0] == "/opt/999.py"


def test_window() -> None:
    content = b"\xef\xbb\xbfone\ntwo\r\n\tthree\nfour\nfive\nsix\n"
    assert window(content, 3, 1) == ("  2 | two", "> 3 | \tthree", "  4 | four")
    assert window(content, 1, 1) == ("> 1 | one", "  2 | two")
    assert window(content, 6, 9) == ("  1 | one", "  2 | two", "  3 | \tthree", "  4 | four", "  5 | five", "> 6 | six")
    assert window(b"x\n" * 12, 10, 1) == ("   9 | x", "> 10 | x", "  11 | x")
    assert window(content, 7) is None
    assert window(content, 0) is None
    assert window(b"a\0b\n", 1) is None
    assert window(b"\xff\xfe x\n", 1) == ("> 1 | \ufffd\ufffd x",)
    assert len((window(b"y" * 10_000, 1) or ("",))[0]) < 500


def test_frames_get_their_windows() -> None:
    read: list[str] = []

    def reader(file: str) -> bytes | None:
        read.append(file)
        return RIGHT if file == REGISTRY else None

    shown, told = with_source(root(), reader)
    frame = shown.exceptions[-1].frames[-1]
    assert frame.source
    assert frame.source[4] == "> 39 |         torch._foreach_copy_(group_dsts, group_srcs)"
    assert len(frame.source) == 9
    assert shown.exceptions[-1].frames[3].source is None
    assert read == list(wanted_files(root()))
    assert shown.fingerprint == root().fingerprint
    assert [event.text for event in told] == [
        f"{REGISTRY} has changed since: line 448 is no longer the code that the traceback shows"
    ]


def test_a_file_that_the_manifest_does_not_know_so_is_told() -> None:
    for answer, count in ((Installed.DIFFERS, 1), (Installed.MATCHES, 0), (Installed.UNKNOWN, 0)):
        content = installed(
            {
                39: "torch._foreach_copy_(group_dsts, group_srcs)",
                52: "_foreach_copy(group_dsts, group_srcs)",
                448: "_grouped_foreach_copy_(gpu_dsts, gpu_srcs)",
            }
        )
        _, told = with_source(root(), lambda file, c=content: c if file == REGISTRY else None, lambda _, a=answer: a)  # type: ignore[misc]
        assert [event.kind for event in told] == [SOURCE_DIFFERS] * count


def test_without_any_file_nothing_changes() -> None:
    failure = root()
    assert with_source(failure, lambda _: None) == (failure, ())


def test_every_form_of_the_report_shows_it() -> None:
    report = triage_entries(recorded("tp2_ddtree_shape")).with_source(lambda file: RIGHT if file == REGISTRY else None)
    for text in (report.to_terminal(colour=False), report.to_markdown(), report.to_html(), report.to_json()):
        assert "> 39 |" in text.replace("&gt;", ">")
        assert "has changed since" in text


@pytest.mark.parametrize(
    ("file", "found"),
    [
        (f"{SITE}sglang/srt/a.py", ["sglang/srt/a.py", "srt/a.py"]),
        (
            "/opt/sgl/python/sglang/a.py",
            ["opt/sgl/python/sglang/a.py", "sgl/python/sglang/a.py", "python/sglang/a.py", "sglang/a.py"],
        ),
        (f"{SITE}naive.py", ["naive.py"]),
        ("/usr/../../etc/x.py", []),
        ("/", []),
    ],
)
def test_where_a_source_tree_may_hold_a_file(file: str, found: list[str]) -> None:
    assert list(candidates(file)) == found
