"""roles/model/files/verify_model.py, run as it is run: as a program with its order on standard input."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.processes

PROGRAM = Path(__file__).resolve().parents[2] / "roles" / "model" / "files" / "verify_model.py"
ARGV = (sys.executable, "-c", PROGRAM.read_text(), PROGRAM.with_name("model_list.py").read_text())
FILES = {"a.safetensors": b"aaaa", "sub/b.safetensors": b"bb", "config.json": b"{}"}


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    root = tmp_path / "model"
    for name, data in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    (root / "SHA256SUMS").write_text("".join(f"{digest(data)}  {name}\n" for name, data in FILES.items()))
    return root


def order(model: Path, **manifest: Any) -> str:
    entry = {"model": str(model), "content": None, "file": None, "blobs": False} | manifest
    return json.dumps({"models": [entry], "memory": str(model.parent / "memory"), "workers": 2}) + "\n"


def verify(model: Path, **manifest: Any) -> Any:
    done = subprocess.run(ARGV, input=order(model, **manifest), capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout.splitlines()[-1])


def text(content: str) -> str:
    return base64.b64encode(content.encode()).decode()


def endless(path: Path) -> None:
    """A file that takes minutes to read and no room on the disk."""
    with path.open("wb") as file:
        file.truncate(2**40)


def problems(answer: Any) -> dict[str, tuple[str, str]]:
    return {Path(one["path"]).name: (one["problem"].split(":")[0], one["severity"]) for one in answer["findings"]}


SUMS = [(name, digest(data), len(data)) for name, data in FILES.items()]
FORMS = {
    "sha256sum": "# made by hand\n\n" + "".join(f"{sha} *./{name}\r\n" for name, sha, _ in SUMS),
    "tagged": "".join(f"SHA256 ({name}) = {sha.upper()}\n" for name, sha, _ in SUMS),
    "mapping": json.dumps({name: sha for name, sha, _ in SUMS}),
    "mapping_with_sizes": json.dumps({"files": {name: {"sha256": sha, "size": size} for name, sha, size in SUMS}}),
    "list": json.dumps([{"path": name, "sha256": sha, "size": size} for name, sha, size in SUMS]),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_manifest(model: Path, form: str) -> None:
    answer = verify(model, content=text(FORMS[form]))
    assert answer["findings"] == []
    assert (answer["checked"], answer["remembered"], answer["bytes"]) == (3, 0, 8)


def test_what_was_good_is_not_read_again_and_what_was_changed_is(model: Path) -> None:
    assert verify(model, file="SHA256SUMS")["checked"] == 3
    again = verify(model, file="SHA256SUMS")
    assert (again["checked"], again["remembered"], again["bytes"]) == (0, 3, 0)
    (model / "a.safetensors").write_bytes(b"aaab")
    answer = verify(model, file="SHA256SUMS")
    assert (answer["checked"], answer["remembered"]) == (1, 2)
    assert problems(answer) == {"a.safetensors": ("is corrupted", "error")}
    assert verify(model, file="SHA256SUMS")["checked"] == 1, "what was bad is read each time"
    assert (
        problems(verify(model, content=text(json.dumps({"sub/b.safetensors": digest(b"other")}))))["b.safetensors"][0]
        == "is corrupted"
    )


def test_missing_truncated_too_long_and_extra_files_are_named(model: Path) -> None:
    manifest = {name: {"sha256": sha, "size": size} for name, sha, size in SUMS}
    (model / "a.safetensors").write_bytes(b"aaa")
    (model / "config.json").write_bytes(b"{ }")
    (model / "sub/b.safetensors").rename(model / "sub/c.safetensors")
    (model / "README.md").write_text("is no weight")
    wanted = {
        "a.safetensors": ("is truncated", "error"),
        "config.json": ("is too long", "error"),
        "b.safetensors": ("is missing", "error"),
        "c.safetensors": ("is not in the manifest", "error"),
    }
    assert problems(verify(model, content=text(json.dumps(manifest)))) == wanted
    (model / "model.safetensors.index.json").write_text("{}")
    answer = verify(model, content=text(json.dumps(manifest)))
    assert problems(answer)["c.safetensors"] == ("is not in the manifest", "warning"), "an index keeps it from being loaded"


def hub(folder: Path) -> Path:
    """A snapshot as huggingface_hub leaves it: weights named by sha256, small files by git's id of their blob."""
    entry = folder / "models--org--name"
    snapshot = entry / "snapshots" / "0123abc"
    snapshot.mkdir(parents=True)
    (entry / "blobs").mkdir()
    for name, data in {"a.safetensors": b"aaaa", "config.json": b"{}"}.items():
        weight = name.endswith(".safetensors")
        blob = digest(data) if weight else hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()  # noqa: S324
        (entry / "blobs" / blob).write_bytes(data)
        (snapshot / name).symlink_to(f"../../blobs/{blob}")
    return snapshot


def test_a_hugging_face_cache_knows_its_own_hashes(tmp_path: Path) -> None:
    snapshot = hub(tmp_path)
    assert verify(snapshot, blobs=True)["checked"] == 2
    (snapshot / "a.safetensors").resolve().write_bytes(b"aaax")
    (snapshot / "config.json").resolve().unlink()
    assert problems(verify(snapshot, blobs=True)) == {
        "a.safetensors": ("is corrupted", "error"),
        "config.json": ("is missing", "error"),
    }


def test_a_hugging_face_cache_with_a_manifest(tmp_path: Path) -> None:
    snapshot = hub(tmp_path)
    answer = verify(snapshot, content=text(json.dumps({"a.safetensors": digest(b"aaaa")})))
    assert (answer["findings"], answer["checked"]) == ([], 1)


@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        ({"content": text("hello")}, "line 1 is no line of sha256sum"),
        ({"content": text(json.dumps({"../x": digest(b"")}))}, "leads out of the model"),
        ({"content": text(json.dumps({"/etc/passwd": digest(b"")}))}, "leads out of the model"),
        ({"content": text(json.dumps({"x": "12"}))}, "is no sha256"),
        ({"content": text("{}")}, "names no files"),
        ({"content": text("[" * 100_000)}, "nested too deeply"),
        ({"file": "../outside"}, "leads out of the model"),
        ({"file": "/etc/shadow"}, "leads out of the model"),
        ({"file": "link"}, "a link that leads out of the model"),
        ({"file": "ring"}, "can't be read"),
        ({"file": "fifo"}, "is no regular file"),
        ({"file": "huge"}, "is larger than 67108864 bytes"),
        ({"file": "sub"}, "is no regular file"),
        ({"content": text('{"files": 3}')}, "expected JSON"),
        ({"file": "NONE"}, "can't be read"),
        ({"blobs": True}, "is no link to a blob"),
    ],
)
def test_a_manifest_that_cannot_be_used_says_why(model: Path, manifest: Any, says: str) -> None:
    (model.parent / "outside").write_text(f"{digest(b'')}  x\n")
    (model / "link").symlink_to("../outside")
    (model / "ring").symlink_to("ring")
    os.mkfifo(model / "fifo")
    endless(model / "huge")
    (finding,) = verify(model, **manifest)["findings"]
    assert says in finding["problem"]


def test_files_without_end_are_findings(model: Path) -> None:
    os.mkfifo(model / "pipe")
    (model / "zero").symlink_to("/dev/zero")
    found = verify(model, content=text(json.dumps({"pipe": digest(b""), "zero": digest(b""), "sub": digest(b"")})))["findings"]
    assert [one["problem"] for one in found if "manifest" not in one["problem"]] == ["is no regular file"] * 3


def test_a_list_in_a_hugging_face_cache_is_a_link_to_a_blob(tmp_path: Path) -> None:
    snapshot = hub(tmp_path)
    (snapshot.parent.parent / "blobs" / "x").write_text(f"{digest(b'aaaa')}  a.safetensors\n")
    (snapshot / "SUMS").symlink_to("../../blobs/x")
    answer = verify(snapshot, file="SUMS")
    assert (answer["findings"], answer["checked"]) == ([], 1)


def test_a_torn_memory_costs_one_file(model: Path) -> None:
    verify(model, file="SHA256SUMS")
    (memory,) = (model.parent / "memory").iterdir()
    memory.write_bytes(memory.read_bytes()[:-20])
    answer = verify(model, file="SHA256SUMS")
    assert (answer["checked"], answer["remembered"]) == (1, 2)
    assert verify(model, file="SHA256SUMS")["remembered"] == 3


def test_a_run_that_is_killed_is_taken_up_where_it_was(model: Path) -> None:
    # One that takes minutes, so that the run is in the middle of it when it is killed; the others are known by then.
    endless(model / "z.bin")
    manifest = {**{name: sha for name, sha, _ in SUMS}, "z.bin": digest(b"")}
    with subprocess.Popen(ARGV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(order(model, content=text(json.dumps(manifest))))
        process.stdin.flush()
        for line in process.stdout:
            if json.loads(line)["progress"]["files"] == 3:
                break
        process.send_signal(signal.SIGKILL)
    (model / "z.bin").unlink()
    (model / "z.bin").write_bytes(b"")
    answer = verify(model, content=text(json.dumps(manifest)))
    assert (answer["findings"], answer["checked"], answer["remembered"]) == ([], 1, 3)


def test_it_ends_when_nobody_listens(model: Path) -> None:
    endless(model / "z.bin")
    with subprocess.Popen(ARGV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(order(model, content=text(json.dumps({"z.bin": digest(b"")}))))
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=60) == 1
