"""The stand-in nvidia-smi on lab hosts: the profile's facts, what tests can do to a GPU, and the memory of running ranks."""

from __future__ import annotations

import csv
from collections.abc import Iterator

import pytest

from ddtree_preflight import smi
from tests.hosts.lab import Lab, LabError

FACTS = [
    ("ct200", "NVIDIA RTX PRO 6000 Blackwell Server Edition", "97887", "12.0", "SYS"),
    ("b300", "NVIDIA B300 SXM6 AC", "275040", "10.3", "NV18"),
]
HOST = "ct200"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A lab for this file alone: no other test's server runs on its GPUs."""
    lab = Lab("labtest-gpu")
    lab.down()
    lab.up()
    yield lab
    lab.down()


@pytest.fixture
def gpus(lab: Lab) -> Iterator[Lab]:
    """The lab with GPUs that are well again after the test."""
    yield lab
    lab.gpu_state(HOST, None)


def query(lab: Lab, host: str, fields: str) -> list[list[str]]:
    text = lab.sh(host, "nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits")
    return [[cell.strip() for cell in row] for row in csv.reader(text.splitlines())]


@pytest.mark.parametrize(("host", "name", "memory", "compute", "link"), FACTS)
def test_the_profile(lab: Lab, host: str, name: str, memory: str, compute: str, link: str) -> None:
    rows = query(lab, host, "index,name,memory.total,compute_cap,driver_version")
    assert rows == [[str(index), name, memory, compute, "580.95.05"] for index in range(8)]
    assert len({row[0] for row in query(lab, host, "uuid")}) == 8
    assert lab.sh(host, "nvidia-smi", "-L").count(name) == 8
    first = lab.sh(host, "nvidia-smi", "topo", "-m").splitlines()[1].split("\t")
    assert [cell.strip() for cell in (first[0], first[1], first[8])] == ["GPU0", "X", link]


def test_units_and_header(lab: Lab) -> None:
    fields = "memory.total,power.limit,persistence_mode,mig.mode.current,pcie.link.width.max"
    lines = lab.sh(HOST, "nvidia-smi", f"--query-gpu={fields}", "--format=csv", "-i", "7").splitlines()
    assert lines == [
        "memory.total [MiB], power.limit [W], persistence_mode, mig.mode.current, pcie.link.width.max",
        "97887 MiB, 600.00 W, Enabled, Disabled, 16",
    ]


def test_an_unknown_field(lab: Lab) -> None:
    done = lab.ssh(HOST, "nvidia-smi --query-gpu=index,memory.size --format=csv")
    assert (done.returncode, done.stdout.strip()) == (2, 'Field "memory.size" is not a valid field to query.')


def test_a_missing_gpu_is_not_listed(gpus: Lab) -> None:
    gpus.gpu_state(HOST, {"gpus": {"3": {"state": "missing"}}})
    assert [row[0] for row in query(gpus, HOST, "index")] == ["0", "1", "2", "4", "5", "6", "7"]


def test_a_lost_gpu_fails_every_query_that_includes_it(gpus: Lab) -> None:
    gpus.gpu_state(HOST, {"gpus": {"2": {"state": "lost"}}})
    with pytest.raises(LabError, match="exit code 15"):
        query(gpus, HOST, "index")
    assert gpus.ssh(HOST, "nvidia-smi -i 1 --query-gpu=index --format=csv,noheader").stdout == "1\n"


@pytest.mark.parametrize(("driver", "code"), [("not_loaded", 9), ("version_mismatch", 18)])
def test_a_broken_driver(gpus: Lab, driver: str, code: int) -> None:
    gpus.gpu_state(HOST, {"driver": driver})
    assert gpus.ssh(HOST, "nvidia-smi -L").returncode == code


def test_a_hanging_driver(gpus: Lab) -> None:
    gpus.gpu_state(HOST, {"driver": "hang"})
    assert gpus.ssh(HOST, "timeout 1 nvidia-smi -L").returncode == 124  # timeout(1): it had to be ended


def test_errors_and_foreign_processes_show(gpus: Lab) -> None:
    process = {"pid": 4242, "gpu": 1, "used_memory": 90000, "name": "jupyter"}
    gpus.gpu_state(HOST, {"gpus": {"0": {"ecc.errors.uncorrected.volatile.total": 2}}, "processes": [process]})
    rows = query(gpus, HOST, "ecc.errors.uncorrected.volatile.total,memory.used,memory.free")
    assert rows[:2] == [["2", "0", "97887"], ["0", "90000", "7887"]]
    text = gpus.sh(HOST, "nvidia-smi", "--query-compute-apps=pid,used_memory,process_name", "--format=csv,noheader")
    assert "4242, 90000 MiB, jupyter\n" in text


def test_a_rank_holds_memory_only_while_it_lives(gpus: Lab) -> None:
    """The shell stands for a rank: it writes as the service's user would, and the file stays when it has gone."""
    rank = "echo $$ 1234 >/run/ddtree-lab/gpu/6.used_mib; nvidia-smi --query-gpu=memory.used --format=csv,noheader -i 6"
    as_nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", rank)
    assert gpus.sh(HOST, *as_nobody) == "1234 MiB\n"
    assert query(gpus, HOST, "memory.used")[6] == ["0"]
    gpus.sh(HOST, "rm", "/run/ddtree-lab/gpu/6.used_mib")


def test_the_whole_report_as_xml(gpus: Lab) -> None:
    report = smi.report(gpus.sh("b300", "nvidia-smi", "-q", "-x"))
    assert (report.driver, report.cuda, len(report.gpus)) == ("580.95.05", "13.0", 8)
    assert report.gpus[7].text("fabric/state") == "Completed"
    assert report.gpus[7].number("fb_memory_usage/total") == 275040
    changes = {"0": {"xml/remapped_rows/remapped_row_pending": "Yes", "gpu_recovery_action": "Reset"}}
    gpus.gpu_state(HOST, {"gpus": changes, "peers": {"0-1": "CNS"}, "processes": [{"pid": 9, "gpu": 2, "used_memory": 7}]})
    report = smi.report(gpus.sh(HOST, "nvidia-smi", "-q", "-x"))
    assert (report.gpus[0].text("gpu_recovery_action"), report.gpus[0].text("remapped_rows/remapped_row_pending")) == (
        "Reset",
        "Yes",
    )
    assert [(one.pid, one.mib) for one in report.gpus[2].processes] == [(9, 7)]
    peers = smi.matrix(gpus.sh(HOST, "nvidia-smi", "topo", "-p2p", "r"))
    assert (peers["GPU1", "GPU0"], peers["GPU1", "GPU2"]) == ("CNS", "OK")
