"""What signatures say is no more than the log shows: near misses, and how sure they are."""

from __future__ import annotations

import pytest

from ddtree_ops.triage.block import Block, Frame, Origin, ParsedException
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.last_words import says_why
from ddtree_ops.triage.model import Confidence, Failure, FailurePhase, Finding, Role
from ddtree_ops.triage.numbers import Facts
from ddtree_ops.triage.signatures import Context, match, match_line
from ddtree_ops.triage.signatures.runtimes import in_its_words
from tests.triage.journals import START_US

SERVER_ARGS = "/v/site-packages/sglang/srt/server_args.py"


def found(kind: str, message: str, *, file: str = "/opt/x/y.py", code: str | None = "f()") -> Finding | None:
    frame = Frame(file, 1, "f", code)
    exceptions = (ParsedException(kind, message, None, (frame,)),)
    block = Block(1, None, None, "", True, exceptions, (), START_US, START_US, Origin.TRACEBACK)
    return match(Context(block, FailurePhase.ARGUMENTS, Facts()))


def certainly(finding: Finding | None) -> Finding:
    assert finding is not None
    return finding


def test_a_package_of_another_version_is_not_missing() -> None:
    said = "huggingface-hub>=0.34.0,<1.0 is required for a normal functioning of this module, but found huggingface-hub==1.2.0."
    finding = certainly(found("ImportError", said))
    assert (finding.kind, finding.confidence) == (Kind.MISSING_PYTHON_MODULE, Confidence.CERTAIN)
    assert finding.cause == "huggingface-hub is installed as 1.2.0, but >=0.34.0,<1.0 is needed."
    assert certainly(found("ImportError", said.replace("huggingface-hub==", ""))).cause == finding.cause


@pytest.mark.parametrize("said", ["CUDA is required to use this backend", "A GPU is required", "an access token is required"])
def test_what_is_required_need_not_be_a_package(said: str) -> None:
    assert found("ImportError", said) is None


@pytest.mark.parametrize("said", ["flash_attn package is required", "`sgl-kernel` is not installed"])
def test_a_package_that_is_named_is_likely_missing(said: str) -> None:
    finding = certainly(found("ImportError", said))
    assert (finding.kind, finding.confidence) == (Kind.MISSING_PYTHON_MODULE, Confidence.LIKELY)


@pytest.mark.parametrize(
    ("name", "major"),
    [("libcudart.so.13", "13"), ("libnvrtc-builtins.so.13.0", "13"), ("libcufft.so.11", None), ("libcurand.so.10", None)],
)
def test_only_some_libraries_tell_cudas_version(name: str, major: str | None) -> None:
    finding = certainly(found("ImportError", f"{name}: cannot open shared object file: No such file or directory"))
    assert (finding.kind, finding.confidence) == (Kind.CUDA_MAJOR_MISMATCH, Confidence.LIKELY)
    assert finding.cause is not None
    assert ("belongs to CUDA" in finding.cause) == (major is not None)
    assert "find" in finding.cause


def test_error_803_is_no_old_driver() -> None:
    finding = certainly(found("RuntimeError", "system has unsupported display driver / cuda driver combination"))
    assert (finding.kind, finding.confidence) == (Kind.CUDA_MAJOR_MISMATCH, Confidence.LIKELY)
    assert "older" not in finding.title + (finding.cause or "")


def test_watches_are_no_disk() -> None:
    assert found("OSError", "[Errno 28] inotify watch limit reached") is None
    assert found("OSError", "OS file watch limit reached. (os error 28)") is None


@pytest.mark.parametrize(
    ("said", "confidence"),
    [
        ("[Errno 28] No space left on device", Confidence.LIKELY),
        ("[Errno 28] No space left on device: '/srv/x'", Confidence.CERTAIN),
        ("[Errno 28] No space left on device: '/dev/shm/x'", Confidence.CERTAIN),
    ],
)
def test_a_full_disk_is_certain_with_a_path(said: str, confidence: Confidence) -> None:
    finding = certainly(found("OSError", said))
    assert (finding.kind, finding.confidence) == (Kind.DISK_FULL, confidence)


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("cp: error writing '/srv/x y': No space left on device", None),
        ("cp: error writing '/srv/x': No space left on device", "/srv/x"),
        ("tar: /srv/a: Cannot write: No space left on device", "/srv/a"),
        (
            "Not enough free disk space to download the file. The expected file size is: 9 MB. The target location /h only has"
            " 1 MB",
            "/h",
        ),
    ],
)
def test_a_tool_names_its_path_before(line: str, place: str | None) -> None:
    finding = certainly(match_line(line))
    assert finding.kind is Kind.DISK_FULL
    assert finding.confidence is (Confidence.CERTAIN if place else Confidence.LIKELY)
    assert (place or "the file system") in (finding.cause or "")


@pytest.mark.parametrize(
    ("kind", "said", "asked"),
    [
        ("MemoryError", "", "more memory"),
        ("numpy._core._exceptions._ArrayMemoryError", "Unable to allocate 9.09 TiB for an array with shape (1,)", "9.09 TiB"),
        ("OSError", "[Errno 12] Cannot allocate memory", "more memory"),
    ],
)
def test_memory_that_was_refused_need_not_have_run_out(kind: str, said: str, asked: str) -> None:
    finding = certainly(found(kind, said))
    assert (finding.kind, finding.confidence) == (Kind.HOST_OOM, Confidence.LIKELY)
    assert f"asked for {asked} " in (finding.cause or "")


def test_a_failed_request_says_nothing_of_the_server() -> None:
    finding = certainly(found("ValueError", "boom", file="/v/site-packages/uvicorn/protocols/http/h.py"))
    assert finding.kind is Kind.REQUEST_ERROR
    assert "goes on" not in (finding.cause or "") + " ".join(finding.fixes)


@pytest.mark.parametrize(
    ("kind", "said", "code"),
    [
        ("TypeError", "'>' not supported between instances of 'NoneType' and 'int'", "if self.a > 1:"),
        ("TypeError", "'>' not supported between instances of 'NoneType' and 'int'", None),
        ("ValueError", "invalid literal for int() with base 10: 'x'", "self.port = int(text)"),
    ],
)
def test_a_slip_where_arguments_are_checked_is_no_refusal(kind: str, said: str, code: str | None) -> None:
    assert found(kind, said, file=SERVER_ARGS, code=code) is None


@pytest.mark.parametrize("code", ["raise ValueError(", "assert self.a > 1, (", None])
def test_a_check_that_refuses_is_one(code: str | None) -> None:
    finding = certainly(found("ValueError", "a can't be used with b", file=SERVER_ARGS, code=code))
    assert finding.kind is Kind.UNSUPPORTED_ARGUMENT_COMBINATION


def test_a_cause_without_a_kind_says_why() -> None:
    def failure(cause: str | None) -> Failure:
        none: tuple[()] = ()
        return Failure(
            "f" * 16, Kind.UNKNOWN, "t", Role.ROOT, FailurePhase.DEPLOY, None, None, 1, none, none, none, none, cause, none,
            Confidence.LIKELY if cause else Confidence.UNKNOWN,
        )  # fmt: skip

    assert says_why(failure("known_hosts has no key for this host"))
    assert not says_why(failure(None))


def test_a_kernel_of_two_blocks_names_no_argument_that_is_not_there() -> None:
    finding = certainly(found("RuntimeError", "CUDA error: CTA Not Present"))
    assert finding.kind is Kind.CUDA_ILLEGAL_ACCESS
    assert not any("--" in fix for fix in finding.fixes)


def test_words_of_the_log_stay_as_they_are_for_vllm() -> None:
    said = "Quantization method specified in the model config (SGLang --tp-size) does not match the quantization method"
    said += " specified in the `quantization` argument (fp8)"
    finding = certainly(found("ValueError", said, file="/v/site-packages/vllm/config/x.py", code="raise ValueError("))
    assert "SGLang --tp-size" in (finding.cause or "")
    assert finding.fixes


def test_a_fix_is_left_where_a_server_has_no_argument_for_it() -> None:
    for server in ("vllm", "tensorrt_llm"):
        frames = (Frame(f"/v/site-packages/{server}/x.py", 1, "f"),)
        block = Block(1, None, None, "", True, (ParsedException("E", "it said --ep-size", None, frames),), (), None, None)
        context = Context(block, FailurePhase.SERVING, Facts())
        finding = Finding(Kind.NCCL_TIMEOUT, "t", "SGLang said --ep-size.", ("Raise --dist-timeout.",), Confidence.LIKELY)
        told = in_its_words(context, finding)
        assert told.fixes
        assert "--dist-timeout" not in told.fixes[0]
        assert "--ep-size" in (told.cause or "")
