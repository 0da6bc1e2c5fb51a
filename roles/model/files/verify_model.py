"""Check every file of a model against its sha256, remember what was good, and say how far it is.

Runs on the host as root, with the text of model_list.py as its argument; the order is one line of JSON on standard input:
    {"models": [{"model": DIRECTORY, "content": base64 of a manifest | null, "file": NAME in the directory | null,
                 "blobs": true = names in a Hugging Face cache are hashes}], "memory": DIRECTORY, "workers": 0 = all cores}
Each line of the answer is a document: {"progress": {"model", "done", "total", "files", "of"}} about once a second, bytes and
files that are read in this run, and at the end {"findings": [{"path", "problem", "fix", "severity"}], "checked", "remembered",
"bytes", "seconds"}. A file that was good counts as good while size, time and inode are the same: a run that was interrupted
goes on where it was, and one on an unchanged model reads nothing.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import re
import stat
import sys
import time
import types
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.modules["model_list"] = types.ModuleType("model_list")
exec(compile(sys.argv[1], "model_list.py", "exec"), sys.modules["model_list"].__dict__)  # noqa: S102 - sent as this program is

from model_list import Unusable, Wanted, checked, parse  # noqa: E402

CHUNK = 4 * 2**20
MOST_WORKERS = 32
MOST_LIST_BYTES = 64 * 2**20
PROGRESS_SECONDS = 1.0
WEIGHTS = (".safetensors", ".bin", ".pt", ".gguf")
INDEX = "model.safetensors.index.json"
REFETCH = "fetch this file again (nothing is downloaded by a deploy)"
SHA256_NAME, GIT_NAME = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Finding:
    """A file that isn't as the manifest says. An error stops a deploy, a warning doesn't."""

    path: str
    problem: str
    fix: str = REFETCH
    severity: str = "error"


@dataclass(frozen=True)
class Job:
    """One file to read: `identity` is size in bytes, time in nanoseconds, inode."""

    place: Path
    wanted: Wanted
    identity: tuple[int, int, int]


def open_regular(path: Path) -> int:
    """A descriptor of a regular file: a FIFO would wait for a writer, and a device may have no end. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(None, "it is no regular file")
    return descriptor


def read_list(model: Path, name: str) -> str:
    """A list that lies with the model. Raises Unusable, OSError, UnicodeDecodeError."""
    place = model / checked("its name", Wanted(name, "0" * 64)).path
    real, root = place.resolve(strict=True), model.resolve(strict=True)
    # A snapshot in a Hugging Face cache is made of links to blobs/ beside snapshots/.
    roots = (root, root.parent.parent / "blobs") if root.parent.name == "snapshots" else (root,)
    if not any(one in real.parents for one in roots):
        raise Unusable(f"is a link that leads out of the model, to {real}")
    with os.fdopen(open_regular(real), "rb") as file:
        raw = file.read(MOST_LIST_BYTES + 1)
    if len(raw) > MOST_LIST_BYTES:
        raise Unusable(f"is larger than {MOST_LIST_BYTES} bytes")
    return raw.decode("utf-8-sig")


def from_blobs(model: Path) -> list[Wanted]:
    """The files of a snapshot in a Hugging Face cache: each is a link to blobs/<its hash>. Raises Unusable."""
    found = []
    for path in sorted(one for one in model.rglob("*") if one.is_symlink() or one.is_file()):
        name = path.readlink().name if path.is_symlink() else ""
        if not SHA256_NAME.fullmatch(name) and not GIT_NAME.fullmatch(name):
            raise Unusable(f"{path.name} is no link to a blob named by its hash; give a manifest for this model")
        found.append(Wanted(str(path.relative_to(model)), name))
    return found


def wanted_files(order: dict[str, Any]) -> list[Wanted]:
    """The files that an order's model consists of. Raises Unusable."""
    model, name = Path(order["model"]), order.get("file")
    try:
        if order.get("blobs"):
            found = from_blobs(model)
        else:
            text = read_list(model, name) if name else base64.b64decode(order["content"]).decode("utf-8-sig")
            found = [one for one in parse(text) if one.path != str(Path(name or ""))]
    except OSError as error:
        raise Unusable(f"can't be read: {error.strerror or error}") from error
    except (UnicodeDecodeError, binascii.Error, RuntimeError) as error:  # RuntimeError: links in a ring, before Python 3.13
        raise Unusable(f"can't be read: {error}") from error
    if not found:
        raise Unusable("names no files")
    return found


class Memory:
    """What was good, by file: one line of JSON each, appended and brought to the disk as soon as it is known."""

    def __init__(self, folder: Path, model: str) -> None:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        self._path = folder / f"{hashlib.sha256(model.encode()).hexdigest()[:16]}.jsonl"
        self._known: dict[str, list[Any]] = {}
        self._lines = 0
        for line in self._path.read_text(errors="replace").splitlines() if self._path.exists() else ():
            self._lines += 1
            try:
                path, *rest = json.loads(line)
                self._known[path] = rest
            except (ValueError, TypeError, RecursionError):
                continue  # torn by a power cut

    def knows(self, job: Job) -> bool:
        return self._known.get(job.wanted.path) == [job.wanted.digest, *job.identity]

    def remember(self, job: Job) -> None:
        self._known[job.wanted.path] = [job.wanted.digest, *job.identity]
        self._lines += 1
        self._write(self._path, os.O_APPEND, json.dumps([job.wanted.path, job.wanted.digest, *job.identity]) + "\n")

    def shorten(self) -> None:
        """Forget lines that later ones replaced, once they are many."""
        if self._lines > 2 * len(self._known) + 100:
            new = self._path.with_suffix(".new")
            self._write(new, os.O_TRUNC, "".join(json.dumps([path, *rest]) + "\n" for path, rest in self._known.items()))
            new.replace(self._path)

    @staticmethod
    def _write(path: Path, how: int, text: str) -> None:
        # A line that was torn before must not swallow this one; empty lines are skipped.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | how, 0o644)
        try:
            os.write(descriptor, b"\n" + text.encode() if how == os.O_APPEND else text.encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class Verification:
    """One run over one model."""

    def __init__(self, model: Path, memory: Memory, workers: int, say: Callable[[dict[str, Any]], None]) -> None:
        self._model = model
        self._memory = memory
        self._workers = workers
        self._say = say
        self._done = 0
        self.findings: list[Finding] = []
        self.checked = self.remembered = self.bytes = 0

    def run(self, files: list[Wanted]) -> None:
        jobs = [job for wanted in files if (job := self._job(wanted)) is not None]
        new = sorted((job for job in jobs if not self._memory.knows(job)), key=lambda job: -job.identity[0])
        self.remembered = len(jobs) - len(new)
        self.findings += self._extra({wanted.path for wanted in files})
        self.bytes = sum(job.identity[0] for job in new)
        with ThreadPoolExecutor(max_workers=max(1, min(self._workers, len(new)))) as pool:  # hashlib frees the interpreter
            self._collect({pool.submit(self._digest, job): job for job in new}, len(new))
        self._memory.shorten()

    def _job(self, wanted: Wanted) -> Job | None:
        """What is to be read, or a finding if that can be told without reading."""
        place = self._model / wanted.path
        try:
            status = place.stat()
        except OSError as error:
            missing = isinstance(error, FileNotFoundError)
            self.findings.append(Finding(str(place), "is missing" if missing else f"can't be read: {error.strerror}"))
            return None
        if not stat.S_ISREG(status.st_mode):
            self.findings.append(Finding(str(place), "is no regular file"))
            return None
        if wanted.size is not None and status.st_size != wanted.size:
            what = "is truncated" if status.st_size < wanted.size else "is too long"
            self.findings.append(Finding(str(place), f"{what}: {status.st_size} of {wanted.size} bytes"))
            return None
        return Job(place, wanted, (status.st_size, status.st_mtime_ns, status.st_ino))

    def _extra(self, named: set[str]) -> Iterator[Finding]:
        """Weights that no manifest knows: without an index a server would load them, too."""
        severity = "warning" if (self._model / INDEX).exists() else "error"
        for path in sorted(self._model.rglob("*")):
            if path.suffix in WEIGHTS and str(path.relative_to(self._model)) not in named:
                yield Finding(str(path), "is not in the manifest", "remove it, or renew the manifest", severity)

    def _digest(self, job: Job) -> str:
        """The file's digest in hexadecimal, of the kind that is wanted. Raises OSError."""
        digest = hashlib.sha256() if len(job.wanted.digest) == 64 else hashlib.sha1(b"blob %d\0" % job.identity[0])  # noqa: S324
        buffer = memoryview(bytearray(CHUNK))
        with os.fdopen(open_regular(job.place), "rb", buffering=0) as file:
            while count := file.readinto(buffer):
                digest.update(buffer[:count])
                self._done += count
        return digest.hexdigest()

    def _collect(self, running: dict[Future[str], Job], of: int) -> None:
        told = 0.0
        while running:
            if time.monotonic() - told >= PROGRESS_SECONDS:
                told = time.monotonic()
                figures = {"done": self._done, "total": self.bytes, "files": self.checked, "of": of}
                self._say({"progress": {"model": str(self._model), **figures}})
            for future in wait(running, PROGRESS_SECONDS, FIRST_COMPLETED).done:
                self._judge(running.pop(future), future)

    def _judge(self, job: Job, future: Future[str]) -> None:
        self.checked += 1
        try:
            found = future.result()
            status = job.place.stat()
        except OSError as error:
            self.findings.append(
                Finding(str(job.place), f"can't be read: {error.strerror}", "look at the kernel log: is the disk sound?")
            )
            return
        if (status.st_size, status.st_mtime_ns, status.st_ino) != job.identity:
            self.findings.append(Finding(str(job.place), "was changed while it was read", "wait until the download has ended"))
        elif found != job.wanted.digest:
            problem = f"is corrupted: its sha256 is {found[:12]}..., expected {job.wanted.digest[:12]}..."
            self.findings.append(Finding(str(job.place), problem))
        else:
            self._memory.remember(job)


def main() -> None:
    os.nice(10)  # the former release may serve meanwhile
    order = json.loads(sys.stdin.readline())
    start = time.monotonic()
    total = {"checked": 0, "remembered": 0, "bytes": 0}
    findings: list[Finding] = []
    for one in order["models"]:
        workers = order.get("workers") or min(os.cpu_count() or 1, MOST_WORKERS)
        verification = Verification(Path(one["model"]), Memory(Path(order["memory"]), one["model"]), workers, say)
        try:
            verification.run(wanted_files(one))
        except Unusable as error:
            where = f" ({one['file']})" if one.get("file") else ""
            problem = f"has no usable manifest{where}: {error}"
            findings.append(Finding(one["model"], problem, "correct the manifest (model.manifest)"))
        findings += verification.findings
        total = {name: total[name] + getattr(verification, name) for name in total}
    say({"findings": [asdict(finding) for finding in findings], **total, "seconds": round(time.monotonic() - start, 2)})


def say(document: dict[str, Any]) -> None:
    """One line. When nobody listens any more, there is nothing left to do: what was good is remembered."""
    try:
        print(json.dumps(document), flush=True)  # noqa: T201
    except BrokenPipeError:
        os._exit(1)


if __name__ == "__main__":
    main()
