"""Blocks of the kernel, systemd, Ansible and OpenSSH while their lines arrive: what is one event, and what is none."""

from __future__ import annotations

import pytest

from ddtree_ops.triage.block import Block, Device, Origin
from ddtree_ops.triage.blocks.ansible import Ansible
from ddtree_ops.triage.blocks.kernel import Kernel
from ddtree_ops.triage.blocks.recogniser import Recogniser
from ddtree_ops.triage.blocks.systemd import Systemd
from ddtree_ops.triage.entry import JournalEntry, from_fields
from ddtree_ops.triage.lines import Line, read_prefix
from tests.hang import ends

SECOND = 1_000_000


def entry(text: str, at: int = 0, **fields: str) -> JournalEntry:
    return from_fields({"__REALTIME_TIMESTAMP": str(1_700_000_000 * SECOND + at), **fields}, text)


def feed(recogniser: Recogniser, *texts: str, **fields: str) -> list[Block]:
    done: list[Block] = []
    for number, text in enumerate(texts):
        line = Line(text, entry(text, number * 1000, **fields), number)
        done += recogniser.feed(line, read_prefix(text))
    return done


def xid(number: int, pci: str = "0000:1b:00", rest: str = "pid=5001, name=python3, Ch 00000001") -> str:
    return f"NVRM: Xid (PCI:{pci}): {number}, {rest}"


def test_an_event_of_many_xids_is_one_block_with_the_gpu_that_began_it() -> None:
    kernel = Kernel()
    lines = [xid(45, f"0000:{bus:02x}:00", f"pid={bus}, name=python3, Ch 1 caused by previous Xid 145") for bus in range(8)]
    assert not feed(kernel, *lines[:4], xid(149, "0000:02:00", "NETIR_LINK_EVT Fatal"), *lines[4:] * 1000)
    (block,) = kernel.flush()
    assert block.origin is Origin.KERNEL
    assert block.times == 4 + 1 + 4000
    assert [device for device in block.devices if device.suspect] == [Device(pci="0000:02:00", suspect=True)]
    assert len(block.devices) == 8
    assert set(range(8)) <= set(block.subjects)
    assert len(block.lines) < 20


def test_an_event_of_xids_ends_when_the_log_goes_on_or_a_crash_is_seen() -> None:
    kernel = Kernel()
    feed(kernel, xid(79))
    later = Line("a line", entry("a line", 6 * SECOND), 2)
    assert len(kernel.feed(later, read_prefix(later.text))) == 1
    feed(kernel, xid(79))
    assert len(kernel.settle()) == 1
    assert not kernel.flush()


@pytest.mark.parametrize(
    "text",
    [
        xid(79),
        "kernel: " + xid(79),
        "[12345.678901] " + xid(79),
        "Apr 02 03:04:05 gpu-a kernel: " + xid(79),
        "2026-04-02T03:04:05,100001+00:00 " + xid(79),
    ],
)
def test_a_kernel_line_with_any_header(text: str) -> None:
    kernel = Kernel()
    feed(kernel, text)
    assert len(kernel.flush()) == 1


def test_what_a_process_prints_or_a_log_record_quotes_is_not_the_kernels() -> None:
    kernel = Kernel()
    feed(kernel, xid(79), _PID="4711", _COMM="python3", _TRANSPORT="stdout")
    feed(kernel, f"[2026-04-02 03:04:05 TP0] {xid(79)}", f"Prompt: {xid(79)}")
    assert not kernel.flush()


def test_an_oom_kill_names_the_victim_and_tables_are_not_kept() -> None:
    table = [f"[{pid:7d}]     0 {pid:7d}    23952    20944   237568        0             0 python3" for pid in range(5000)]
    (block,) = feed(
        Kernel(),
        "loader invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
        *table,
        "Out of memory: Killed process 313 (sglang::schedul) total-vm:95808kB, anon-rss:81444kB, file-rss:2332kB",
    )
    assert block.subjects == (313,)
    assert len(block.lines) == 2


def test_an_oom_kill_whose_end_was_lost_still_names_who_was_chosen() -> None:
    kernel = Kernel()
    assert not feed(kernel, "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),task_memcg=/x.service,task=python3,pid=77,uid=0")
    (block,) = kernel.flush()
    assert block.subjects == (77,)
    feed(kernel, "python3 invoked oom-killer: gfp_mask=0xcc0")
    assert not kernel.flush()


def test_a_storm_of_disk_errors_is_bounded() -> None:
    lines = [f"I/O error, dev nvme0n1, sector {sector} op 0x1:(WRITE)" for sector in range(10_000)]
    assert len(feed(Kernel(), *lines)) == 20


def systemd(*texts: str) -> list[Block]:
    manager = Systemd()
    return [*feed(manager, *texts, _PID="1", _COMM="systemd"), *manager.flush()]


def test_two_units_at_once_are_told_apart() -> None:
    blocks = systemd(
        "a.service: Failed at step USER spawning /a: No such process",
        "b.service: Failed at step CHDIR spawning /b: No such file or directory",
        "b.service: Main process exited, code=exited, status=200/CHDIR",
        "a.service: Main process exited, code=exited, status=217/USER",
        "b.service: Failed with result 'exit-code'.",
        "a.service: Failed with result 'exit-code'.",
    )
    assert [block.header for block in blocks] == ["b.service", "a.service"]
    assert all(len(block.lines) == 3 for block in blocks)


def test_a_denial_explains_the_step_whether_it_comes_before_or_after() -> None:
    denial = 'audit: type=1400 audit(1.2:3): avc:  denied  { execute } for  pid=9 comm="(python)" name="python" permissive=0'
    step = "a.service: Failed at step EXEC spawning /srv/python: Permission denied"
    result = "a.service: Failed with result 'exit-code'."
    for order in ((denial, step, result), (step, denial, result), (step, result, denial)):
        manager = Systemd()
        blocks: list[Block] = []
        for text in order:
            fields = {"_TRANSPORT": "kernel"} if text is denial else {"_PID": "1", "_COMM": "systemd"}
            blocks += feed(manager, text, **fields)
        (block,) = [*blocks, *manager.flush()]
        assert denial in block.lines


def test_how_the_program_itself_ended_is_no_block() -> None:
    assert not systemd(
        "Started a.service - A.",
        "a.service: Main process exited, code=exited, status=1/FAILURE",
        "a.service: Failed with result 'exit-code'.",
        "a.service: Main process exited, code=killed, status=9/KILL",
        "a.service: Failed with result 'signal'.",
    )


def test_a_result_that_never_came_doesnt_hide_the_failed_step() -> None:
    (block,) = systemd("a.service: Failed at step EXEC spawning /a: Permission denied")
    assert block.header == "a.service"


def test_many_units_are_bounded() -> None:
    manager = Systemd()
    feed(manager, *(f"u{number}.service: Start request repeated too quickly." for number in range(10_000)), _PID="1")
    assert len(manager.flush()) <= 64


FAILED = 'fatal: [gpu-a]: FAILED! => {"changed": false, "msg": "no"}'


def test_a_failure_that_the_play_ignores_or_rescues_is_none() -> None:
    ansible = Ansible()
    assert not feed(ansible, FAILED, "...ignoring", "", "TASK [next] ***")
    assert not ansible.flush()
    recap = "gpu-a                      : ok=3    changed=0    unreachable=0    failed={}    skipped=0    rescued=1    ignored=0"
    assert not feed(ansible, FAILED, "PLAY RECAP ****", recap.format(0))
    assert len(feed(ansible, FAILED, "PLAY RECAP ****", recap.format(1))) == 1


def test_a_result_over_several_lines_ends_with_the_next_header_or_the_log() -> None:
    ansible = Ansible()
    feed(
        ansible,
        "fatal: [gpu-a]: FAILED! => ",
        "    changed: false",
        "    msg: |-",
        "        one",
        "",
        "        two",
        "PLAY RECAP **",
    )
    (block,) = ansible.flush()
    assert block.lines == ("msg: one", "msg: two")
    feed(ansible, "gpu-a | FAILED! => {", '    "msg": "cut')
    (block,) = ansible.flush()
    assert block.header == "gpu-a"
    assert "cut" in block.text


def test_a_traceback_in_a_modules_output_is_read_as_one() -> None:
    ansible = Ansible()
    quoted = r"Traceback (most recent call last):\n  File \"/opt/x.py\", line 3, in main\nOSError: [Errno 28] No space left\n"
    feed(ansible, f'fatal: [gpu-a]: FAILED! => {{"msg": "MODULE FAILURE", "module_stderr": "{quoted}"}}')
    (block,) = ansible.flush()
    assert [item.type for item in block.exceptions] == ["OSError"]
    assert block.exceptions[0].message == "[Errno 28] No space left"


def test_openssh_lines_of_one_connection_are_one_block() -> None:
    ansible = Ansible()
    assert not feed(
        ansible, "kex_exchange_identification: read: Connection reset by peer", "Connection reset by 192.0.2.1 port 22"
    )
    (block,) = feed(ansible, "something else")
    assert block.origin is Origin.SSH
    assert len(block.lines) == 2


@pytest.mark.parametrize(
    "text",
    [
        "Connection to 192.0.2.1 closed.",
        "Connection closed by authenticating user root 192.0.2.7 port 51122 [preauth]",
        "Received disconnect from 192.0.2.7 port 51130:11: disconnected by user",
        "sudo:    deploy : TTY=pts/0 ; PWD=/home/deploy ; USER=root ; COMMAND=/usr/bin/true",
    ],
)
def test_a_normal_end_and_the_servers_own_log_are_none(text: str) -> None:
    ansible = Ansible()
    feed(ansible, text)
    assert not ansible.flush()


@pytest.mark.parametrize("make", [Kernel, Systemd, Ansible])
@pytest.mark.parametrize("fill", ["a", " ", "[", "({", "Xid ", "a: ", "- a", "pid="])
def test_a_hostile_line_takes_no_time_and_no_room(make: type[Recogniser], fill: str) -> None:
    begins = (
        "",
        "fatal: [h]: FAILED! => {",
        "[ERROR]: ",
        "x.service: Failed at step EXEC spawning ",
        xid(13),
        "avc:  denied  { ",
    )
    for begin in (*begins, *make.literals):
        text = begin + fill * (1_000_000 // len(fill))
        line, prefix = Line(text, entry(text), 1), read_prefix("")
        recogniser = make()
        with ends():
            blocks = [*recogniser.feed(line, prefix), *recogniser.flush()]
        assert sum(len(text) for block in blocks for text in block.lines) <= 300_000


@pytest.mark.parametrize("make", [Kernel, Systemd, Ansible])
def test_an_endless_block_is_bounded(make: type[Recogniser]) -> None:
    recogniser = make()
    long = "x" * 100_000
    feed(recogniser, "[ERROR]: Task failed: x", "fatal: [h]: FAILED! => ", "loader invoked oom-killer: ")
    for number in range(300):
        feed(
            recogniser,
            f"    {number} {long}",
            f"memory: usage 1kB, limit {number}kB {long}",
            f"u{number}.service: Failed to load {long}",
        )
    blocks = recogniser.flush()
    assert sum(len(text) for block in blocks for text in block.lines) < 1_000_000
