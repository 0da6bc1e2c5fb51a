"""Check every file of a model against its sha256, remember what was good, and say how far it is.

Runs on the host as root; the order is one line of JSON on standard input:
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
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

CHUNK = 4 * 2**20
MOST_WORKERS = 32
PROGRESS_SECONDS = 1.0
WEIGHTS = (".safetensors", ".bin", ".pt", ".gguf")
INDEX = "model.safetensors.index.json"
REFETCH = "fetch this file again (nothing is downloaded by a deploy)"
# sha256sum(1): hash, blank, blank or asterisk, name; with --tag: SHA256 (name) = hash
SUM_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")
TAG_LINE = re.compile(r"SHA256 \((.+)\) = ([0-9a-fA-F]{64})")
SHA256_NAME, GIT_NAME = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Finding:
    """A file that isn't as the manifest says. An error stops a deploy, a warning doesn't."""

    path: str
    problem: str
    fix: str = REFETCH
    severity: str = "error"


@dataclass(frozen=True)
class Wanted:
    """A file as it should be: its digest in hexadecimal (64 digits: sha256; 40: git's id of a blob) and its size, if known."""

    path: str
    digest: str
    size: int | None = None


@dataclass(frozen=True)
class Job:
    """One file to read: `identity` is size in bytes, time in nanoseconds, inode."""

    place: Path
    wanted: Wanted
    identity: tuple[int, int, int]


class Unusable(Exception):
    """The manifest can't be used."""


def parse_manifest(text: str) -> list[Wanted]:
    """A manifest in JSON, or lines of sha256sum. Raises Unusable."""
    if text.lstrip().startswith(("{", "[")):
        return [checked(one) for one in from_json(text)]
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        plain, tagged = SUM_LINE.fullmatch(line.rstrip()), TAG_LINE.fullmatch(line.rstrip())
        if not plain and not tagged:
            raise Unusable(f"line {number} is no line of sha256sum")
        path, digest = (plain[2], plain[1]) if plain else (tagged[1], tagged[2])  # type: ignore[index]
        found.append(checked(Wanted(path, digest.lower())))
    return found


def from_json(text: str) -> Iterator[Wanted]:
    """`{path: sha256}`, `{path: {sha256, size}}`, `[{path, sha256, size}]`; the first two also below "files"."""
    try:
        document = json.loads(text)
        files = document.get("files", document) if isinstance(document, dict) else document
        entries = files.items() if isinstance(files, dict) else [(one["path"], one) for one in files]
        for path, entry in entries:
            given = {"sha256": entry} if isinstance(entry, str) else entry
            size = given.get("size")
            yield Wanted(str(path), str(given["sha256"]).lower(), None if size is None else int(size))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unusable(f"expected JSON that names files with their sha256: {error}") from None


def checked(wanted: Wanted) -> Wanted:
    """The path stays inside the model and the digest is one."""
    path = PurePosixPath(wanted.path)
    if path.is_absolute() or ".." in path.parts or not path.parts or not wanted.path.isprintable():
        raise Unusable(f"the path {wanted.path[:200]!r} leads out of the model")
    if not SHA256_NAME.fullmatch(wanted.digest):
        raise Unusable(f"{path}: {wanted.digest[:80]!r} is no sha256")
    return Wanted(str(path), wanted.digest, wanted.size)


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
    model = Path(order["model"])
    if order.get("blobs"):
        found = from_blobs(model)
    else:
        try:
            raw = (model / order["file"]).read_bytes() if order.get("file") else base64.b64decode(order["content"])
            found = [one for one in parse_manifest(raw.decode("utf-8-sig")) if one.path != order.get("file")]
        except (OSError, UnicodeDecodeError, binascii.Error) as error:
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
            except (ValueError, TypeError):
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
        with job.place.open("rb", buffering=0) as file:
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
            findings.append(Finding(one["model"], f"has no usable manifest: {error}", "correct the manifest (model.manifest)"))
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
