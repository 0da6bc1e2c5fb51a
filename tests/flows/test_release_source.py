"""The source of a release: its own program with this machine's python3, over a directory laid out as a release is on a host."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import pytest

from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.fleet import argument_findings, places
from ddtree_ops.fleet.hardware import profile
from ddtree_ops.fleet.patches import Patch
from ddtree_ops.fleet.release import LocalWheel, Release, ReleaseInputs, build
from ddtree_ops.fleet.spec import ServingSpec
from ddtree_ops.fleet.state import Manifest
from ddtree_ops.flows import planned_source, release_source
from ddtree_ops.on_host import sources
from ddtree_ops.ports import Command, Completed
from ddtree_ops.runtime.parameters import declared
from ddtree_ops.runtime.source import model
from ddtree_ops.runtime.source.model import SourceTree
from tests.runtime.source.small_trees import ENGINE, PLUGIN, venv, wheel

pytestmark = pytest.mark.processes

ID = "lab-0123456789"
RUNNER = "sglang/srt/runner.py"
PATCH = f"""--- a/{RUNNER}
+++ b/{RUNNER}
@@ -1,3 +1,3 @@
 def run(server_args):
-    width = server_args.tp_size * 2
+    width = server_args.page_size * 2
     return width
--- a/sglang/_version.py
+++ /dev/null
@@ -1 +0,0 @@
-__version__ = version = '0.5.13.post1'
"""


@dataclass
class HereShell:
    """A host that is this machine: argv runs as it is. `ran`: the verbs asked for. `lie`: what it answers instead."""

    host: str = "ct200"
    ran: list[str] = field(default_factory=list)
    lie: bytes | None = None

    def run(self, command: Command) -> Completed:
        code, out, err = self._run(command.argv)
        if code not in command.ok:
            raise HostCommandFailed(f"{self.host}: {code}")
        return Completed(command, code, out.decode(), err.decode(), 0.0)

    @contextmanager
    def stream(self, argv: tuple[str, ...]) -> Iterator[HereShell]:
        self._said = self._run(argv)[1]
        yield self

    def chunks(self) -> Iterator[bytes]:
        yield from (self._said[start : start + 700] for start in range(0, len(self._said), 700))

    def send(self, data: bytes) -> None: ...
    def close(self) -> None: ...

    def _run(self, argv: tuple[str, ...]) -> tuple[int, bytes, bytes]:
        self.ran.append(argv[-2])
        if self.lie is not None:
            return 0, self.lie, b""
        done = subprocess.run(argv, capture_output=True, check=False)
        return done.returncode, done.stdout, done.stderr


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(places, "ROOT", str(tmp_path / "opt"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    venv(tmp_path / "opt" / "releases" / ID / "venv")
    return tmp_path / "opt" / "releases" / ID / "venv" / "lib" / "python3.12" / "site-packages"


@pytest.mark.usefixtures("site")
def test_only_what_isnt_here_travels() -> None:
    shell = HereShell()
    tree = release_source.staged(shell, ID)
    expected = [*sorted(PLUGIN), *sorted(name for name in ENGINE if "/test/" not in name)]
    assert [file.name for file in tree.files] == expected
    assert tree.version == "0.5.13.post2"
    assert {file.name: file.read().decode() for file in tree.files} == {name: (ENGINE | PLUGIN)[name] for name in expected}  # type: ignore[operator]
    assert shell.ran == ["list", "pack"]
    again = release_source.staged(shell, ID)
    assert again == tree
    assert shell.ran == ["list", "pack", "list"]


def test_a_changed_file_travels_alone(site: Path) -> None:
    shell = HereShell()
    release_source.staged(shell, ID)
    (site / RUNNER).write_text("changed = 1\n")
    tree = release_source.staged(shell, ID)
    assert content(tree, RUNNER) == b"changed = 1\n"
    assert shell.ran[-2:] == ["list", "pack"]


def test_the_list_that_staging_wrote_is_believed_where_the_file_is_as_it_was_then(site: Path) -> None:
    """By its size, time and inode; so a release is listed without reading it."""
    release, path = site.parents[3], site / RUNNER
    seen = path.stat()
    name = path.relative_to(release).as_posix()
    written = "f" * 64
    (release / "digests.json").write_text(json.dumps({"sha256": {name: written}}))
    for stat, expected in (((seen.st_size, seen.st_mtime_ns, seen.st_ino), written), ((1, 2, 3), sha(path))):
        (release / "files.json").write_text(json.dumps({"stat": {name: list(stat)}}))
        listed = release_source._listed(HereShell(), str(release))["files"]
        assert listed[RUNNER][0] == expected


def content(tree: SourceTree | None, name: str) -> bytes:
    assert tree is not None
    return next(file.read() for file in tree.files if file.name == name)


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.usefixtures("site")
def test_links_of_a_host_lead_to_nothing_outside(site: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("password = 1\n")
    (site / "sglang" / "link.py").symlink_to(tmp_path / "secret.py")
    (site / "our_plugin" / "out").symlink_to(tmp_path)
    assert not [
        file.name for file in release_source.staged(HereShell(), ID).files if "link" in file.name or "secret" in file.name
    ]
    argv = release_source._argv("pack", str(site.parents[3]), ("sglang/link.py", "../../../../../../secret.py"))
    from ddtree_ops.runtime.source.packing import unpacked

    assert list(unpacked([subprocess.run(argv, capture_output=True, check=True).stdout])) == [b"", b""]


def test_the_host_reads_no_more_than_is_taken_here() -> None:
    assert (sources.MOST_FILES, sources.MOST_BYTES) == (model.MOST_FILES, model.MOST_BYTES)


@pytest.mark.usefixtures("site")
def test_a_stream_that_fails_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: HereShell, argv: tuple[str, ...]) -> None:
        raise HostCommandFailed(f"{self.host}: {' '.join(argv)}")

    monkeypatch.setattr(HereShell, "stream", fail)
    with pytest.raises(HostCommandFailed, match="can't be read") as raised:
        release_source.staged(HereShell(), ID)
    assert len(raised.value.message) < 300


@pytest.mark.usefixtures("site")
def test_a_release_that_isnt_there_is_told_in_one_line() -> None:
    with pytest.raises(HostCommandFailed, match=r"lab-nothing can't be listed: no venv in") as raised:
        release_source.staged(HereShell(), "lab-nothing")
    assert len(raised.value.message) < 300


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("lie", "files"),
    [
        (b"no json", None),
        (b'{"files": []}', None),
        (b"[" * 100_000, None),
        (b'{"files": {"../x.py": ["0"], "/etc/x.py": ["0"], "a\\u001b.py": ["0"], "b.txt": ["0"], "c.py": 7, "d.py": []}}', 0),
    ],
)
def test_a_host_that_lies_is_not_believed(lie: bytes, files: int | None) -> None:
    if files is None:
        with pytest.raises(HostCommandFailed, match="damaged"):
            release_source.staged(HereShell(lie=lie), ID)
    else:
        assert len(release_source.staged(HereShell(lie=lie), ID).files) == files


def release(tmp_path: Path, *wheels: Path, patch: str = "") -> Release:
    patches = (Patch("p.patch", "0", patch.encode()),) if patch else ()
    spec = ServingSpec.model_validate({"model": {"path": "/srv/m"}})
    inputs = ReleaseInputs("lab", "x", "[Unit]", tuple(LocalWheel(str(path), "0") for path in wheels), patches)
    return build(spec, profile("rtx-pro-6000-8x"), inputs)


def test_of_a_release_to_come_wheels_and_patches_tell(tmp_path: Path) -> None:
    wheels = (wheel(tmp_path / "ours.whl", PLUGIN), wheel(tmp_path / "sglang.whl", ENGINE))
    tree = planned_source.local(release(tmp_path, *wheels, patch=PATCH))
    assert tree is not None
    assert "sglang/_version.py" not in [file.name for file in tree.files]
    assert b"page_size * 2" in content(tree, RUNNER)
    assert "our_plugin/hook.py" in [file.name for file in tree.files]


def test_a_release_of_the_same_lock_tells_the_rest_and_is_patched(site: Path, tmp_path: Path) -> None:
    """SGLang comes from the index: it is only on the host, and the patch is only here."""
    wanted = release(tmp_path, wheel(tmp_path / "ours.whl", {"our_plugin/hook.py": "BUDGET = 16\n"}), patch=PATCH)
    seed = wanted.manifest_seed()
    beside = Manifest(ID, "", {"lock_sha256": seed["lock_sha256"]})
    tree = release_source.planned(HereShell(), wanted, (beside,))
    assert tree is not None
    assert b"page_size * 2" in content(tree, RUNNER)
    assert content(tree, "our_plugin/hook.py") == b"BUDGET = 16\n"
    assert "our_plugin/__init__.py" not in {file.name for file in tree.files}
    other = Manifest(ID, "", {"lock_sha256": "other"})
    alone = release_source.planned(HereShell(), wanted, (other,))
    assert alone is not None
    assert [file.name for file in alone.files] == ["our_plugin/hook.py"]


def test_a_patch_that_doesnt_fit_changes_nothing(tmp_path: Path) -> None:
    patch = PATCH.replace("tp_size * 2", "tp_size * 9")
    tree = planned_source.local(release(tmp_path, wheel(tmp_path / "sglang.whl", ENGINE), patch=patch))
    assert tree is not None
    assert content(tree, RUNNER) == ENGINE[RUNNER].encode()


def test_equal_files_of_two_hosts_are_judged_by_one_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    @lru_cache(4)
    def watched(tree: SourceTree) -> object:
        read.append(tree.root)
        return declared(tree)

    monkeypatch.setattr(argument_findings, "_declared", watched)
    wanted = release(tmp_path)
    files = (model.SourceFile("sglang/a.py", None, ("0" * 64,), lambda: b"x = 1\n"),)
    for host in ("one", "two"):
        list(argument_findings.argument_findings(wanted, SourceTree(f"{host}:/opt", None, files, host)))
    assert read == [""]


def test_of_a_package_pinned_twice_the_first_pin_is_wanted(tmp_path: Path) -> None:
    lock = "Torch==2.9.1 ; python_version < '3.13'\ntorch==2.9.0\nsglang[all]==0.5.13\n"
    wanted = release(tmp_path)
    stack = replace(wanted, inputs=replace(wanted.inputs, lock_text=lock)).wanted_stack()
    assert stack["packages"] == {"sglang": "0.5.13", "torch": "2.9.1"}
