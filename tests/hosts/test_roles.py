"""The playbooks on a real host: stage, stage again, refuse, switch, commit."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.lab import Lab
from tests.hosts.playbooks import HOST, LOCKS, PORT, RTX, SESAME, Target, chosen, variables, wheel

STATE = (
    *("/opt/ddtree/releases", "/opt/ddtree/current", "/opt/ddtree/last-good", "/opt/ddtree/wheelhouse"),
    *("/var/lib/ddtree", f"/etc/systemd/system/ddtree-server@{PORT}.service"),
)


@pytest.fixture(scope="module")
def target(empty_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    empty_lab.up(HOST)
    folder = tmp_path_factory.mktemp("roles")
    options = f"ansible_ssh_common_args: -F {empty_lab.ssh_config}"
    (folder / "hosts.yml").write_text(f"all:\n  hosts:\n    {HOST}:\n  vars:\n    {options}\n")
    yield Target(empty_lab, folder)
    empty_lab.stop(HOST)


@pytest.fixture
def clean(target: Target) -> Target:
    """A host without releases or state; uv and its cache are kept, which saves most of a deploy's time."""
    target.sh(f"rm -rf {' '.join(STATE)} && systemctl daemon-reload")
    return target


@pytest.fixture
def fresh(clean: Target) -> Target:
    """The host as if nothing had ever been deployed to it."""
    clean.sh("rm -rf /opt/ddtree; ! id ddtree >/dev/null 2>&1 || userdel ddtree")
    return clean


def test_check_mode_on_a_fresh_host_says_what_would_happen_and_does_nothing(fresh: Target) -> None:
    ran = fresh.play("deploy.yml", variables("lab-a"), "--check", "--diff")
    assert ran.code == 0, ran.output
    assert "would stage /opt/ddtree/releases/lab-a" in ran.output
    assert "sglang_simulator-" in ran.output
    assert fresh.sh("ls -d /opt/ddtree /var/lib/ddtree 2>/dev/null || true") == ""
    assert fresh.sh("getent passwd ddtree || true") == ""


def test_a_fresh_host_gets_a_release_and_the_second_run_changes_nothing(fresh: Target) -> None:
    first = fresh.play("deploy.yml", variables("lab-a"), "--diff")
    assert first.code == 0, first.output
    assert SESAME not in first.output
    assert fresh.releases() == ["lab-a"]
    assert fresh.sh("ls -A -I .lock /opt/ddtree/releases").split() == ["lab-a"], "no staging directory is left"
    release = "/opt/ddtree/releases/lab-a"
    run = f"cd / && runuser -u ddtree -- {release}/venv/bin/python -m"
    assert json.loads(fresh.sh(f"{run} sglang_ddtree.manifest verify --release {release}"))["ok"] is True
    assert "--model-path" in fresh.sh(f"{run} sglang.launch_server --help")
    assert fresh.sh(f"find {release} ! -type l -perm /022 -o ! -user root") == "", "root's, and writable by nobody else"
    assert fresh.sh(f"stat -c '%a %U' {release}/credentials {release}/credentials/*").split() == ["700", "root", "400", "root"]
    assert fresh.sh(f"cat {release}/credentials/api_key") == SESAME
    assert SESAME not in fresh.sh(f"cat {release}/*.json {release}/*.service")

    second = fresh.play("deploy.yml", variables("lab-a"))
    assert second.code == 0, second.output
    assert second.recap("changed") == 0, second.output


def test_a_wheel_with_another_hash_leaves_no_release_and_the_right_one_heals(clean: Target) -> None:
    plugin, simulator = wheel("sglang_ddtree-*.whl"), wheel("sglang_simulator-*.whl")
    forged = simulator | {"sha256": "0" * 64}
    ran = clean.play("deploy.yml", variables("lab-b", release_wheels=[plugin, forged]))
    assert ran.code != 0
    assert "Hash mismatch" in ran.output
    assert simulator["sha256"] in ran.output, "the message names the hash that was found"
    assert clean.releases() == []

    assert clean.play("deploy.yml", variables("lab-b")).code == 0
    assert clean.sh("ls -A -I .lock /opt/ddtree/releases").split() == ["lab-b"]


def test_a_wheelhouse_needs_no_network(fresh: Target, tmp_path: Path) -> None:
    house = tmp_path / "house"
    download(house, LOCKS / "uv.txt", LOCKS / "lab.txt")
    fresh.sh("cp /etc/pip.conf /root/pip.conf && echo 'index-url = http://127.0.0.1:9/simple' >> /etc/pip.conf")
    try:
        settings = variables("lab-c", release_source="wheelhouse", release_wheelhouse=str(house))
        ran = fresh.play("deploy.yml", settings)
    finally:
        fresh.sh("cp /root/pip.conf /etc/pip.conf")
    assert ran.code == 0, ran.output
    assert fresh.releases() == ["lab-c"]
    assert "prometheus_client" in fresh.sh("cat /opt/ddtree/releases/lab-c/manifest.json")


def download(folder: Path, *locks: Path) -> None:
    """Fill a wheelhouse from the controller's own index."""
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes")
    for lock in locks:
        subprocess.run((*pip, "--only-binary", ":all:", "-d", folder, "-r", lock), check=True, timeout=180)


def test_switching_twice_and_back_and_committing(clean: Target) -> None:
    for release in ("lab-d", "lab-e"):
        assert clean.play("deploy.yml", variables(release, service_drain_s=60 if release == "lab-d" else 77)).code == 0
    assert clean.sh("readlink /opt/ddtree/current || true") == "", "staging switches nothing"

    assert clean.play("switch.yml", chosen("lab-d")).code == 0
    assert clean.sh("readlink /opt/ddtree/current").strip() == "releases/lab-d"
    assert clean.sh(f"systemctl is-enabled ddtree-server@{PORT}").strip() == "enabled"
    first_unit = clean.sh(f"systemctl cat ddtree-server@{PORT}")
    assert clean.play("switch.yml", chosen("lab-e")).recap("changed") > 0
    assert clean.play("switch.yml", chosen("lab-e")).recap("changed") == 0
    assert clean.sh("readlink /opt/ddtree/current").strip() == "releases/lab-e"
    assert clean.sh(f"systemctl cat ddtree-server@{PORT}") != first_unit
    assert clean.sh(f"systemctl show -p NeedDaemonReload --value ddtree-server@{PORT}").strip() == "no"

    assert clean.play("commit.yml", chosen("lab-e") | {"service_audit": {"by": "test"}}).code == 0
    assert clean.play("commit.yml", chosen("lab-e")).recap("changed") == 0
    assert clean.sh("readlink /opt/ddtree/last-good").strip() == "releases/lab-e"

    assert clean.play("rollback.yml", chosen("lab-d")).code == 0
    assert clean.sh(f"systemctl cat ddtree-server@{PORT}") == first_unit, "a rollback brings its own unit back"
    assert clean.play("commit.yml", chosen("lab-d")).code == 0
    audit = [json.loads(line) for line in clean.sh("cat /var/lib/ddtree/audit.jsonl").splitlines()]
    assert [(line["before"], line["release"], line.get("by")) for line in audit] == [
        ("", "lab-e", "test"),
        ("lab-e", "lab-d", None),
    ]

    missing = clean.play("rollback.yml", chosen("lab-z"))
    assert missing.code != 0
    assert "there is no release lab-z" in missing.output
    early = clean.play("commit.yml", chosen("lab-e"))
    assert early.code != 0
    assert "the current release is lab-d, not lab-e" in " ".join(early.output.split())
    assert clean.sh("readlink /opt/ddtree/last-good").strip() == "releases/lab-d"


def test_each_release_has_its_own_credentials(clean: Target) -> None:
    two = [{"name": name, "value": f"{name}-of-lab-f"} for name in ("api_key", "hf_token")]
    assert clean.play("deploy.yml", variables("lab-f", release_credentials=two)).code == 0
    assert clean.play("switch.yml", chosen("lab-f")).code == 0
    assert clean.play("deploy.yml", variables("lab-g")).code == 0
    assert keys(clean, "lab-f") == {"api_key": "api_key-of-lab-f", "hf_token": "hf_token-of-lab-f"}
    assert keys(clean, "lab-g") == {"api_key": SESAME}

    fewer = variables("lab-g", release_credentials=[{"name": "hf_token", "value": "other"}])
    assert clean.play("deploy.yml", fewer).code == 0
    assert keys(clean, "lab-g") == {"hf_token": "other"}, "one that the release doesn't name any more is gone"
    assert clean.play("deploy.yml", fewer).recap("changed") == 0


def test_another_key_for_the_current_release_waits_until_it_is_switched_to_again(clean: Target) -> None:
    def key(value: str) -> dict[str, Any]:
        return variables("lab-f", release_credentials=[{"name": "api_key", "value": value}])

    for playbook, settings in (("deploy.yml", key("first")), ("switch.yml", chosen("lab-f")), ("deploy.yml", key("second"))):
        ran = clean.play(playbook, settings)
        assert ran.code == 0
    assert keys(clean, "lab-f") == {"api_key": "first"}, "what a restart would load is as it was"
    assert clean.play("switch.yml", chosen("lab-f"), "--check").code == 0
    assert keys(clean, "lab-f") == {"api_key": "first"}
    assert clean.play("switch.yml", chosen("lab-f")).code == 0
    assert keys(clean, "lab-f") == {"api_key": "second"}
    assert clean.play("deploy.yml", key("second")).recap("changed") == 0
    assert "credentials.next" not in clean.sh("ls /opt/ddtree/releases/lab-f")

    assert clean.play("deploy.yml", key("third")).code == 0
    assert clean.play("deploy.yml", variables("lab-g")).code == 0
    assert clean.play("switch.yml", chosen("lab-g")).code == 0
    assert clean.play("rollback.yml", chosen("lab-f")).code == 0
    assert keys(clean, "lab-f") == {"api_key": "second"}, "a way back brings back what served"
    assert "credentials.next" not in clean.sh("ls /opt/ddtree/releases/lab-f")


def test_credentials_that_no_request_can_carry_are_refused_before_anything_is_written(clean: Target) -> None:
    empty = ("", "  ")
    unusable = ("pass-1234\npass-5678", " pass-1234", "pass-1234\t", "pass-1234\u00e4", "pass-1234\x00")
    wrong = [{"name": f"key_{number}", "value": value} for number, value in enumerate((*empty, *unusable))]
    given = [{"name": "hf_token", "value": SESAME}, *wrong]
    ran = clean.play("deploy.yml", variables("lab-f", release_credentials=given), "-vvv", "--diff")
    assert ran.code != 0
    assert set(re.findall(r"credential key_(\d) is empty", ran.output)) == {"0", "1"}
    assert set(re.findall(r"credential key_(\d) must be one line of printable ASCII", ran.output)) == set("23456")
    assert "credential hf_token" not in ran.output
    assert SESAME not in ran.output
    assert "pass-" not in ran.output
    assert clean.sh("ls -d /opt/ddtree/releases /var/lib/ddtree 2>/dev/null || true") == ""


def keys(target: Target, release: str) -> dict[str, str]:
    """The credentials of a release, by name."""
    folder = f"/opt/ddtree/releases/{release}/credentials"
    return {name: target.sh(f"cat {folder}/{name}") for name in target.sh(f"ls -A {folder}").split()}


def test_a_host_that_is_not_ready_is_refused_with_all_reasons_and_left_alone(fresh: Target) -> None:
    wrong = {
        "preflight_gpus": RTX | {"names": ["NVIDIA B300 SXM6 AC"]},
        "release_python": "/usr/bin/python3.99",
        "preflight_free_mib": 10**9,
    }
    ran = fresh.play("deploy.yml", variables("lab-h", **wrong))
    said = " ".join(ran.output.split())
    assert ran.code != 0
    for part in ("3 reasons", "NVIDIA RTX PRO 6000", "python3.99", "MiB free"):
        assert part in said, part
    assert fresh.sh("ls -d /opt/ddtree 2>/dev/null || true") == ""


def test_an_incomplete_model_is_refused_by_file_name(clean: Target) -> None:
    shard = "/srv/models/kimi-k2.6/model-00007-of-00064.safetensors"
    clean.sh(f"mv {shard} /root/shard && chmod o-r /srv/models/kimi-k2.6/config.json")
    try:
        ran = clean.play("deploy.yml", variables("lab-i"))
    finally:
        clean.sh(f"mv /root/shard {shard} && chmod o+r /srv/models/kimi-k2.6/config.json")
    said = " ".join(ran.output.split())
    assert ran.code != 0
    assert f"{shard} is missing" in said
    assert "config.json can't be read by user ddtree; fix: chmod o+r" in said
