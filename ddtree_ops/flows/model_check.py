"""Check the models' files against their manifests before a deploy changes anything: with progress, and resumed when repeated.

The program is roles/model/files/verify_model.py; its docstring says what it reads and answers.
"""

from __future__ import annotations

import json

from ddtree_ops import assets
from ddtree_ops.errors import DdtreeOpsError, HostCommandFailed, Refused, ServerStalled
from ddtree_ops.fleet import places
from ddtree_ops.fleet.release import Release
from ddtree_ops.flows import model_answer
from ddtree_ops.flows.documents import documents
from ddtree_ops.flows.model_answer import Answer, Progress
from ddtree_ops.flows.progress import LoadNews, Tell
from ddtree_ops.ports import Clock, Shell, Stream
from ddtree_ops.units.readiness import Waiting

SEGMENT = "model files"
# A disk that gives nothing for so long gives nothing at all.
STILL_SECONDS = 300.0
_MOST_NAMED = 10


def check_models(shell: Shell, clock: Clock, release: Release, tell: Tell) -> str:
    """What was found, in a few words.

    Raises Refused with the files that are missing, truncated, corrupted or extra, ServerStalled if reading stands still,
    Unreachable, HostCommandFailed.
    """
    order = {"models": [one.for_host() for one in release.inputs.model_manifests], "memory": places.MODELS, "workers": 0}
    program, reader = (
        assets.role_file("model", name).read_text(encoding="utf-8") for name in ("verify_model.py", "model_list.py")
    )
    try:
        with shell.stream(("python3", "-c", program, reader)) as stream:
            stream.send(json.dumps(order).encode() + b"\n")
            answer = _follow(stream, shell.host, clock, tell)
    except HostCommandFailed as error:  # its message would quote the whole program
        last = error.message.rsplit("\n", 1)[-1][-300:]
        raise HostCommandFailed(f"{shell.host}: the models' files can't be checked: {last}") from error
    return _judge(shell.host, answer)


def _follow(stream: Stream, host: str, clock: Clock, tell: Tell) -> Answer:
    """Tell the progress until the final document comes. Raises HostCommandFailed for answers that are none."""
    start = moved = clock.monotonic()
    done = -1
    for document in documents(stream):
        said = model_answer.read(document)
        if isinstance(said, Answer):
            return said
        now = clock.monotonic()
        if said.done != done:
            done, moved = said.done, now
        if now - moved > STILL_SECONDS:
            text = f"{host}: reading {said.model} stands still for {now - moved:.0f} s, after {size(done)}"
            raise ServerStalled(text, hint="does its file system hang? A deploy goes on with the files that are left")
        tell(LoadNews(host, _waiting(said, now - start)))
    raise DdtreeOpsError(f"{host}: the check of the models' files ended without an answer")


def _waiting(progress: Progress, elapsed: float) -> Waiting:
    done, total = progress.done, progress.total
    eta = max(0, int(elapsed * (total - done) / done)) if done else None
    segment = f"{SEGMENT}: {size(done)} of {size(total)}"
    return Waiting(segment, min(100, 100 * done // total) if total else None, eta, elapsed)


def _judge(host: str, answer: Answer) -> str:
    errors = [one for one in answer.findings if one.severity == "error"]
    if errors:
        more = f" (and {len(errors) - 1} files more)" if len(errors) > 1 else ""
        text = f"{host}: {errors[0].path} {errors[0].problem}{more}"
        evidence = tuple(f"model: {one.path} {one.problem}" for one in errors[1:_MOST_NAMED])
        raise Refused(text, hint=errors[0].fix, evidence=evidence)
    words = [f"{answer.remembered} files known"] if answer.remembered else []
    if answer.checked:
        words.append(f"{answer.checked} files ({size(answer.bytes)}) read in {answer.seconds:.1f} s")
    words += [f"{one.path} {one.problem}" for one in answer.findings[:_MOST_NAMED]]
    return ", ".join(words)


def size(count: int) -> str:
    """`590.0 GB`; powers of ten, as disks are sold."""
    value, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
