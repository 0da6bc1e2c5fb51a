"""Staging on a real host: what a second release costs, and what is left when it is killed, cut off, out of space or refused."""

from __future__ import annotations

import base64
import difflib
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.lab import Lab
from tests.hosts.playbooks import HOST, LOCKS, Ran, Target, variables

ROOT = "/opt/ddtree"
RELEASES = f"{ROOT}/releases"
PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - import_role: {name: runtime}
    - import_role: {name: runtime, tasks_from: validate}
      when: validate | default(false)
"""
# Waits for a path, says so, and kills the run that holds the lock of staging, if it is asked to.
WATCH = """
import os, signal, sys, time
path, kill = sys.argv[1:]
end = time.monotonic() + 240
while not os.path.exists(path):
    time.monotonic() < end or sys.exit("never there")
    time.sleep(0.001)
if kill == "kill":
    os.kill(int(open("/opt/ddtree/.staging.lock").read()), signal.SIGKILL)
print("seen", flush=True)
"""


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    lab = Lab("-".join(("staging", os.environ.get("PYTEST_XDIST_WORKER", "main"))))
    lab.down()
    lab.up(HOST)
    folder = tmp_path_factory.mktemp("staging")
    (folder / "hosts.yml").write_text(f"all:\n  hosts:\n    {HOST}:\n  vars:\n    ansible_ssh_common_args: -F {lab.ssh_config}\n")
    (folder / "stage.yml").write_text(PLAY)
    try:
        yield Target(lab, folder)
    finally:
        lab.down()


@pytest.fixture
def clean(target: Target) -> Target:
    """No releases; uv and its cache are kept."""
    target.sh(f"rm -rf {RELEASES}")
    return target


def stage(target: Target, release: str, *flags: str, **changes: Any) -> Ran:
    return target.play(str(target.folder / "stage.yml"), variables(release, **changes), *flags)


def present(target: Target) -> list[str]:
    return target.sh(f"ls -A {RELEASES}").split()


def site(release: str) -> str:
    return f"{RELEASES}/{release}/venv/lib/python3*/site-packages"


def verified(target: Target, release: str) -> Any:
    """The thorough check: every file is hashed."""
    return json.loads(
        target.sh(f"{RELEASES}/{release}/venv/bin/python -m sglang_ddtree.manifest verify --release {RELEASES}/{release} || true")
    )


def patch(text: str, name: str = "a.diff") -> dict[str, str]:
    return {
        "name": name,
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "content": base64.b64encode(text.encode()).decode(),
    }


def with_patches(release: str, *patches: dict[str, str]) -> dict[str, Any]:
    seed = {"id": release, "patches": [{"name": one["name"], "sha256": one["sha256"]} for one in patches]}
    return {"release_patches": list(patches), "release_manifest": seed}


def test_a_second_release_is_hard_links_and_needs_no_index(clean: Target) -> None:
    first = stage(clean, "lab-a")
    assert (first.code, first.recap("changed")) == (0, 1), first.output
    clean.sh("cp -p /etc/pip.conf /root/; printf '[global]\\nindex-url = http://127.0.0.1:9/simple\\n' >/etc/pip.conf")
    try:
        assert stage(clean, "lab-b").code == 0
    finally:
        clean.sh("mv /root/pip.conf /etc/pip.conf")
    one, two = (int(line.split()[0]) for line in clean.sh(f"du -sk {RELEASES}/lab-a {RELEASES}/lab-b").splitlines())
    assert two < one / 4, "what du counts a second time is directories, lists and what is the release's own"
    same = clean.sh(f"stat -c %i {site('lab-a')}/prometheus_client/core.py {site('lab-b')}/prometheus_client/core.py").split()
    assert same[0] == same[1]
    pyc = "prometheus_client/__pycache__/core.*.pyc"
    assert len(set(clean.sh(f"stat -c %i {site('lab-a')}/{pyc} {site('lab-b')}/{pyc}").split())) == 1
    assert verified(clean, "lab-b")["ok"]
    again = stage(clean, "lab-b")
    assert (again.code, again.recap("changed")) == (0, 0)


AT = {
    "packages are there": ".staging-lab-c/venv/lib/python3.11/site-packages/sglang",
    "the list is written": ".staging-lab-c/files.json",
}


def watcher(target: Target, path: str, what: str) -> subprocess.Popen[str]:
    argv = ("ssh", "-F", str(target.lab.ssh_config), HOST, f"python3 -c '{WATCH}' {RELEASES}/{path} {what}")
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("path", AT.values(), ids=AT)
def test_a_run_killed_at_any_step_leaves_no_release_and_the_next_one_cleans_up(clean: Target, path: str) -> None:
    clean.sh(f"mkdir -p {RELEASES}")
    with watcher(clean, path, "kill") as watching:
        killed = stage(clean, "lab-c")
        assert watching.communicate(timeout=300)[0] == "seen\n"
    left = present(clean)
    assert killed.code != 0 or left == ["lab-c"], "a run that was killed too late has made its release"
    assert left in ([".staging-lab-c"], ["lab-c"])
    assert stage(clean, "lab-c").code == 0
    assert present(clean) == ["lab-c"]
    assert verified(clean, "lab-c")["ok"]


def test_a_power_cut_while_packages_are_installed(clean: Target) -> None:
    clean.sh(f"mkdir -p {RELEASES}")
    with ThreadPoolExecutor() as pool, watcher(clean, AT["packages are there"], "watch") as watching:
        running = pool.submit(stage, clean, "lab-c")
        assert watching.stdout is not None
        assert watching.stdout.readline() == "seen\n"
        clean.lab.crash(HOST)
        assert running.result(timeout=300).code != 0
    clean.lab.start(HOST)
    assert "lab-c" not in present(clean)
    assert stage(clean, "lab-c").code == 0
    assert present(clean) == ["lab-c"]
    assert verified(clean, "lab-c")["ok"]


@pytest.fixture
def small_disk(clean: Target) -> Iterator[Target]:
    """What is in /opt/ddtree, and 700 KiB more."""
    clean.sh(f"rm -rf /root/kept && cp -a {ROOT} /root/kept")
    clean.sh(
        f"mount -t tmpfs -o mode=0755,size=$(( $(du -sk /root/kept | cut -f1) + 700 ))k none {ROOT} && cp -a /root/kept/. {ROOT}"
    )
    yield clean
    clean.sh(f"umount {ROOT}; rm -rf /root/kept")


def test_a_full_disk_is_said_and_nothing_is_left(small_disk: Target) -> None:
    full = stage(small_disk, "lab-e")
    assert full.code != 0
    said = " ".join(full.output.split())
    assert f"the file system of {ROOT} is full" in said
    assert "nothing of it was left behind" in said
    assert present(small_disk) == []
    small_disk.sh(f"mount -o remount,size=200m {ROOT}")
    assert stage(small_disk, "lab-e").code == 0
    assert verified(small_disk, "lab-e")["ok"]


def test_a_damaged_release_is_replaced_in_one_step_and_its_processes_keep_theirs(clean: Target) -> None:
    assert stage(clean, "lab-f").code == 0
    core = f"{site('lab-f')}/prometheus_client/core.py"
    clean.sh(f"mkdir {RELEASES}/lab-f/credentials && echo key >{RELEASES}/lab-f/credentials/api_key")
    clean.sh(f"systemd-run --unit=held --working-directory={RELEASES}/lab-f sleep 600")
    clean.sh(f"echo 'x = 1' >>{core}")  # through the hard link, uv's cache and every other release are damaged as well
    assert verified(clean, "lab-f")["files"]["changed"] == ["prometheus_client/core.py"]
    repaired = stage(clean, "lab-f")
    assert (repaired.code, repaired.recap("changed")) == (0, 1)
    assert verified(clean, "lab-f")["ok"]
    assert clean.sh(f"cat {RELEASES}/lab-f/credentials/api_key") == "key\n"
    assert present(clean) == [".replaced-lab-f-1", "lab-f"]
    assert clean.sh("readlink /proc/$(systemctl show -p MainPID --value held)/cwd").strip() == f"{RELEASES}/.replaced-lab-f-1"
    clean.sh("systemctl stop held")
    assert stage(clean, "lab-g").code == 0
    assert verified(clean, "lab-g")["ok"], "the cache was mended, too"
    assert present(clean) == ["lab-f", "lab-g"]


def test_whatever_is_missing_of_a_release_is_mended(clean: Target) -> None:
    assert stage(clean, "lab-h").code == 0
    for harm in ("truncate -s 100 manifest.json", "rm -r venv"):
        clean.sh(f"cd {RELEASES}/lab-h && {harm}")
        assert stage(clean, "lab-h").recap("changed") == 1
        assert verified(clean, "lab-h")["ok"]
    assert stage(clean, "lab-h").recap("changed") == 0


NEW_FILE = """--- /dev/null
+++ b/prometheus_client/added.py
@@ -0,0 +1,1 @@
+value = 7
"""


def test_patches_are_applied_to_the_release_alone_and_their_drift_is_seen(clean: Target) -> None:
    assert stage(clean, "lab-i").code == 0
    name = "prometheus_client/core.py"
    before = clean.sh(f"cat {site('lab-i')}/{name}").splitlines(keepends=True)
    edit = "".join(difflib.unified_diff(before, [*before, "patched = True\n"], f"a/{name}", f"b/{name}"))
    series = with_patches("lab-j", patch(edit), patch(NEW_FILE, "b.diff"))
    ran = stage(clean, "lab-j", **series)
    assert ran.code == 0, ran.output
    run = f"{RELEASES}/lab-j/venv/bin/python -c"
    assert clean.sh(f"{run} 'from prometheus_client import core, added; print(core.patched, added.value)'") == "True 7\n"
    manifest = json.loads(clean.sh(f"cat {RELEASES}/lab-j/manifest.json"))
    assert set(manifest["patched_files"]) == {name, "prometheus_client/added.py"}
    assert verified(clean, "lab-j")["ok"]
    assert verified(clean, "lab-i")["ok"], "neither the other release nor the cache was touched"
    clean.sh(f"cd {site('lab-j')}/prometheus_client && sed -i s/7/8/ added.py && sed -i s/patched/petched/ core.py")
    assert verified(clean, "lab-j")["files"]["changed"] == ["prometheus_client/added.py", name]
    assert stage(clean, "lab-j", **series).recap("changed") == 1
    assert verified(clean, "lab-j")["ok"]


def test_a_patch_that_does_not_fit_is_named_by_file_and_hunk(clean: Target) -> None:
    wrong = patch("--- a/prometheus_client/core.py\n+++ b/prometheus_client/core.py\n@@ -1,1 +1,1 @@\n-nothing\n+something\n")
    ran = stage(clean, "lab-k", **with_patches("lab-k", wrong))
    assert ran.code != 0
    said = " ".join(ran.output.split())
    assert "a patch can't be applied: a.diff: prometheus_client/core.py hunk 1: line 1 is another one" in said
    assert "expected 'nothing" in said
    assert present(clean) == []


def test_a_wheel_with_another_hash_is_refused(clean: Target) -> None:
    wrong = re.sub("sha256:[0-9a-f]{64}", "sha256:" + "0" * 64, (LOCKS / "lab.txt").read_text())
    clean.sh(f"rm -rf {ROOT}/uv-cache")
    ran = stage(clean, "lab-l", release_lock=wrong)
    assert ran.code != 0
    assert "isn't the one that the lock names" in " ".join(ran.output.split()), ran.output
    assert present(clean) == []


def test_what_sglang_refuses_is_said_in_its_own_words(clean: Target) -> None:
    server = {"schema": "ddtree-ops/server/v1", "release": "lab-m", "port": 30000, "listen": "127.0.0.1", "environment": {}}
    server |= {
        "argv": ["--model-path", "/srv/models/kimi-k2.6", "--no-such-argument"],
        "credentials": {},
        "model_bytes": None,
        "stall_after_s": 60,
        "load_budget_s": 60,
    }
    server |= {"probe": {"prompt": "a", "max_new_tokens": 1, "timeout_s": 5}, "drain_s": 5}
    ran = stage(clean, "lab-m", release_server=server, validate=True)
    assert ran.code != 0
    said = " ".join(ran.output.split())
    assert "SGLang refuses the arguments:" in said
    assert "no-such-argument" in said


def test_two_runs_at_once_make_one_release(clean: Target, tmp_path: Path) -> None:
    for name in ("hosts.yml", "stage.yml"):
        shutil.copy(clean.folder / name, tmp_path)
    with ThreadPoolExecutor() as pool:
        both = list(pool.map(lambda one: stage(one, "lab-n"), (clean, Target(clean.lab, tmp_path))))
    assert [ran.code for ran in both] == [0, 0]
    assert sorted(ran.recap("changed") for ran in both) == [0, 1]
    assert present(clean) == ["lab-n"]
    assert verified(clean, "lab-n")["ok"]


def test_check_mode_makes_nothing(clean: Target) -> None:
    ran = stage(clean, "lab-o", "--check")
    assert ran.code == 0
    assert "would stage /opt/ddtree/releases/lab-o" in ran.output
    assert clean.sh(f"ls -A {RELEASES} 2>/dev/null || true") == ""
