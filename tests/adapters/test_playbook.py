"""AnsiblePlaybooks with the real Ansible, on hosts that are this machine."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ddtree_host import durable, fence
from ddtree_host.places import Places
from ddtree_ops import assets
from ddtree_ops.adapters.playbook import AnsiblePlaybooks
from ddtree_ops.errors import Locked, PlaybookFailed
from ddtree_ops.ports import TaskResult, TaskState

pytestmark = pytest.mark.processes

SECONDS = 60.0
HOSTS = ("a", "b", "c")
PLAYBOOK = """
- hosts: all
  gather_facts: false
  tasks:
    - name: Count the runs
      ansible.builtin.shell: {cmd: "echo $PPID >>{{ folder }}/runs"}
      run_once: true
    - name: Fail on one
      ansible.builtin.fail: {msg: "port {{ port }} is bad"}
      when: port == 2
    - name: Hang
      ansible.builtin.command: {argv: [sleep, "{{ seconds }}"]}
    - name: Write what was given
      ansible.builtin.copy: {content: "{{ [port, names, secret] | to_json }}", dest: "{{ folder }}/{{ inventory_hostname }}"}
"""


@pytest.fixture
def playbooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AnsiblePlaybooks:
    (tmp_path / "play.yml").write_text(PLAYBOOK)
    monkeypatch.setattr(assets, "playbook", lambda _name: tmp_path / "play.yml")
    monkeypatch.setenv("TEST_SECRET", "sesame")
    here = {"ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3"}
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"hosts": {host: {} for host in HOSTS}, "vars": here}}))
    made = AnsiblePlaybooks(tmp_path / "hosts.yml")
    for host in HOSTS:
        made.enter(host)
    return made


def variables(folder: Path, port: int, seconds: float = 0) -> dict[str, Any]:
    looked_up = "{{ lookup('ansible.builtin.env', 'TEST_SECRET') }}"
    return {"folder": str(folder), "port": port, "names": [{"port": port}], "secret": looked_up, "seconds": seconds}


def together(work: Callable[[str], Any]) -> Mapping[str, Any]:
    """What `work` returns or raises for each host, all at the same time."""
    found: dict[str, Any] = {}

    def one(host: str) -> None:
        try:
            found[host] = work(host)
        except BaseException as error:  # noqa: BLE001 - it is the result
            found[host] = error

    started = [threading.Thread(target=one, args=(host,)) for host in HOSTS]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join(SECONDS)
    return found


def processes(folder: Path) -> list[str]:
    """Command lines that name our folder, or the sleep of this test."""
    lines: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and entry.name != str(os.getpid()):
            try:
                words = (entry / "cmdline").read_text(errors="replace").replace("\0", " ")
            except OSError:
                continue
            if str(folder) in words or "sleep 287" in words:
                lines.append(words)
    return lines


def test_one_run_serves_all_hosts_each_with_its_own_variables_news_and_end(playbooks: AnsiblePlaybooks, tmp_path: Path) -> None:
    news: dict[str, list[TaskResult]] = {host: [] for host in HOSTS}
    ports = {"a": 1, "b": 2, "c": 3}
    found = together(lambda host: playbooks.run("any", host, variables(tmp_path, ports[host]), news[host].append))
    assert found["a"] is None
    assert found["c"] is None
    assert isinstance(found["b"], PlaybookFailed)
    assert "Fail on one: port 2 is bad" in found["b"].message
    assert json.loads((tmp_path / "a").read_text()) == [1, [{"port": 1}], "sesame"]
    assert json.loads((tmp_path / "c").read_text()) == [3, [{"port": 3}], "sesame"]
    assert not (tmp_path / "b").exists()
    assert len((tmp_path / "runs").read_text().split()) == 1
    for host in HOSTS:
        assert {task.host for task in news[host]} == {host}
    assert news["b"][-1].state is TaskState.FAILED


def test_an_interruption_ends_the_run_for_all_and_leaves_no_process(playbooks: AnsiblePlaybooks, tmp_path: Path) -> None:
    def run(host: str) -> None:
        def news(task: TaskResult) -> None:
            if task.task == "Hang" and task.state is TaskState.STARTED:
                playbooks.interrupt()

        playbooks.run("any", host, variables(tmp_path, 1, 287), news)

    start = time.monotonic()
    found = together(run)
    assert all(isinstance(one, KeyboardInterrupt) for one in found.values()), found
    assert time.monotonic() - start < SECONDS
    assert processes(tmp_path) == []


def test_what_a_listener_raises_is_its_own_hosts_matter(playbooks: AnsiblePlaybooks, tmp_path: Path) -> None:
    def run(host: str) -> None:
        def news(_task: TaskResult) -> None:
            if host == "b":
                raise ZeroDivisionError

        playbooks.run("any", host, variables(tmp_path, 1), news)

    found = together(run)
    assert isinstance(found["b"], ZeroDivisionError)
    assert found["a"] is None
    assert (tmp_path / "b").exists()


def test_a_playbook_that_cannot_be_read_did_not_run(playbooks: AnsiblePlaybooks, tmp_path: Path) -> None:
    (tmp_path / "play.yml").write_text("- hosts: [")
    for host in HOSTS[1:]:
        playbooks.leave(host)
    with pytest.raises(PlaybookFailed, match="did not run"):
        playbooks.run("any", "a", variables(tmp_path, 1), lambda _task: None)


def test_a_module_that_misses_the_lock_says_locked(
    playbooks: AnsiblePlaybooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the very words of the role's modules."""
    monkeypatch.setattr(durable, "read", lambda _path: {"token": "theirs", "user": "anna", "controller": "laptop"})
    with pytest.raises(fence.HostError) as refused, fence.fenced(Places(), "ours", "test"):
        pass
    play = [{"hosts": "all", "gather_facts": False, "tasks": [{"ansible.builtin.fail": {"msg": str(refused.value)}}]}]
    (tmp_path / "play.yml").write_text(json.dumps(play))
    for host in HOSTS[1:]:
        playbooks.leave(host)
    with pytest.raises(Locked, match="a: this host's lock was lost: anna@laptop") as caught:
        playbooks.run("any", "a", {}, lambda _task: None)
    assert caught.value.exit_code == 9
