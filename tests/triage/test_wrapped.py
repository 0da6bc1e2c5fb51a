"""Tracebacks copied from a terminal that cut their lines at its width."""

from __future__ import annotations

import pytest

from tests.triage.journals import written
from tests.triage.reading import from_text, read

_PLAIN = [
    "Traceback (most recent call last):",
    '  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 305, in _initialize_kv_caches',
    "    kv_cache_configs = get_kv_cache_configs(self.vllm_config, kv_cache_specs, available_gpu_memory, and_more)",
    '  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/core/kv_cache_utils.py", line 758, in _check_enough',
    "    raise ValueError(",
    "ValueError: To serve at least one request with the model's max seq len (100000), 4.26 GiB KV cache is needed, which is"
    " larger than the available KV cache memory (4.25 GiB).",
]


def _wrapped(lines: list[str], width: int) -> str:
    return "\n".join(line[at : at + width] for line in lines for at in range(0, len(line), width))


@pytest.mark.parametrize("prefix", ["", "(EngineCore pid=316) "])
@pytest.mark.parametrize("width", range(72, 104))
def test_whole_again(prefix: str, width: int) -> None:
    lines = [prefix + line for line in _PLAIN]
    (whole,), (cut,) = from_text("\n".join(lines)), from_text(_wrapped(lines, width))
    assert [(item.file, item.line, item.function) for item in cut.exceptions[0].frames] == [
        (item.file, item.line, item.function) for item in whole.exceptions[0].frames
    ]
    assert cut.exceptions[0].type == "ValueError"
    assert cut.exceptions[0].message == whole.exceptions[0].message
    assert cut.exceptions[0].complete


@pytest.mark.parametrize("after", ["Killed", "KeyboardInterrupt", "INFO:     Shutting down", "Loading: 3 of 7 [00:20<25:09]"])
def test_what_others_write_is_no_rest_of_a_frame(after: str) -> None:
    (block,) = from_text("\n".join((*_PLAIN[:2], after, *_PLAIN[2:])))
    assert block.exceptions[0].frames[0].function == "_initialize_kv_caches"


def test_without_a_cut_frame_nothing_is_joined() -> None:
    message = ["ValueError: " + "a" * 88, "b" * 100, "c" * 30]
    (block,) = from_text("\n".join((_PLAIN[0], '  File "/x.py", line 1, in f', *message)))
    assert block.exceptions[0].message == "\n".join(message).removeprefix("ValueError: ")


def test_a_line_of_another_process_is_no_rest() -> None:
    """A short line that comes while a frame stands open, from whoever else writes to the journal."""
    frame = '  File "/opt/sgl/python/sglang/srt/x.py", line 1, in <module>'
    lines = [(11, "Traceback (most recent call last):"), (11, frame), (10, "x"), (11, "ValueError")]
    (found,) = read(written(lines))
    assert [one.function for one in found.exceptions[0].frames] == ["<module>"]
