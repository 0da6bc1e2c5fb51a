"""What it writes while it loads: the recorded lines, in the recorded order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.simulator.server import draft, running

pytestmark = pytest.mark.processes

# Every record of a run with two ranks (rank 0's and the main process's), as recorded; `*` stands for what differs by run.
RECORDED = r"""
*/launch_server.py:*: UserWarning: 'python -m sglang.launch_server' is still supported, but 'sglang serve' is the recommended entrypoint.
  Example: sglang serve --model-path <model> [options]
  warnings.warn(
[*] Overlap scheduler is disabled when using DFLASH speculative decoding (spec v2 is not supported yet).
[*] flashinfer.comm is not available, falling back to standard implementation
[*] server_args=ServerArgs(model_path='*', tokenizer_path='*', tokenizer_mode='auto', *, tp_size=2, *, msprobe_dump_config=None)
[*] Using default HuggingFace chat template with detected content format: string
flashinfer.comm is not available, falling back to standard implementation
[* TP0] Failed to load generation config for *: * does not appear to have a file named generation_config.json. Checkout '*' for available files.. Proceeding without generation config.
[* TP0] Init torch distributed begin.
[* TP0] sglang is using nccl==2.28.9
[* TP0] Init torch distributed ends. elapsed=* s, mem usage=* GB
[* TP0] Ignore import error when loading sglang.srt.models.deepseek_v4: No module named 'tilelang'
[* TP0] Load weight begin. avail mem=* GB
Multi-thread loading shards:   0% Completed | 0/4 [00:00<?, ?it/s]
Multi-thread loading shards: 100% Completed | 4/4 [*<*, *it/s]
[* TP0] Load weight end. elapsed=* s, type=Qwen3ForCausalLM, avail mem=* GB, mem usage=* GB.
[* TP0] Max concurrent requests (per dp worker) from the finalized token capacity: max_num_reqs=8.
[* TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: *, K size: * GB, V size: * GB
[* TP0] Memory pool end. avail mem=* GB
[* TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=* GB
[* TP0] Capture cuda graph bs [1, 2, 3, 4]
  0%|          | 0/4 [00:00<?, ?it/s]
Capturing batches (bs=4 avail_mem=* GB):   0%|          | 0/4 [00:00<?, ?it/s]
*UserWarning: tl.where with a non-boolean condition is deprecated and will error out in a future triton release. Got uint8
Capturing batches (bs=1 avail_mem=* GB): 100%|██████████| 4/4 [*<*, *it/s]
[* TP0] Capture cuda graph end. Time elapsed: * s. mem usage=* GB. avail mem=* GB.
[* TP0] Disable piecewise CUDA graph because --disable-piecewise-cuda-graph is set
[* TP0] Init torch distributed begin.
[* TP0] Init torch distributed ends. elapsed=0.00 s, mem usage=0.00 GB
[* TP0] Load weight begin. avail mem=* GB
Multi-thread loading shards: 100% Completed | 1/1 [*<*, *it/s]
[* TP0] Load weight end. elapsed=* s, type=DFlashDraftModel, avail mem=* GB, mem usage=* GB.
[* TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: *, K size: * GB, V size: * GB
[* TP0] Memory pool end. avail mem=* GB
[* TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=* GB
[* TP0] Capture cuda graph end. Time elapsed: * s. mem usage=* GB. avail mem=* GB.
[* TP0] Initialized DFLASH draft runner. attention_backend=triton, model=DFlashDraftModel, block_size=8, draft_window_size=None, compact_cache=False
[* TP0] DFLASH draft runner ready. mask_token=<|MASK|>, mask_token_id=3, mask_token_id_override=3
[* TP0] DFLASH fused KV materialization enabled. n_layers=2, num_kv_heads=1, head_dim=64
[* TP0] max_total_num_tokens=*, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=8, context_len=8192, available_gpu_mem=* GB
[* TP0] Tree cache initialized: source=default impl=RadixCache hybrid_swa=False hybrid_ssm=False hierarchical=False streaming_wrapped=False
[*] INFO:     Started server process [*]
[*] INFO:     Waiting for application startup.
[*] INFO:     Application startup complete.
[*] INFO:     Uvicorn running on http://127.0.0.1:* (Press CTRL+C to quit)
[*] INFO:     127.0.0.1:* - "GET /model_info HTTP/1.1" 200 OK
[* TP0] Prefill batch, #new-seq: 1, #new-token: *, #cached-token: 0, token usage: 0.00, #running-req: 0, #queue-req: 0, #pending-token: 0, cuda graph: False, input throughput (token/s): *
[* TP0] DFLASH verify completed. num_correct_drafts_per_req=[*]
[*] INFO:     127.0.0.1:* - "POST /generate HTTP/1.1" 200 OK
[*] The server is fired up and ready to roll!
"""  # noqa: E501
DATE = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d( TP\d+)?\] ")


def as_pattern(line: str) -> re.Pattern[str]:
    """A recorded line as a pattern."""
    return re.compile(".*".join(map(re.escape, line.split("*"))))


def test_lines_come_as_recorded_and_in_that_order(models: Path) -> None:
    """Each recorded line follows the one before it; lines of other ranks may stand between."""
    with running(models, "--tp-size", "2", "--max-running-requests", "8", *draft(models)) as server:
        text = server.text
    position = 0
    for line in RECORDED.strip().splitlines():
        found = as_pattern(line).search(text.replace("\r", "\n"), position)
        assert found, f"missing after {text[max(0, position - 200) : position]!r}:\n{line}"
        position = found.end()


def test_every_dated_line_has_a_rank_only_with_several_ranks(models: Path) -> None:
    """One rank: no TP prefix anywhere."""
    with running(models) as server:
        dated = [match for line in server.lines if (match := DATE.match(line))]
    assert len(dated) > 20
    assert not any(match.group(1) for match in dated)


def test_progress_bars_start_with_a_carriage_return_and_end_with_a_newline(models: Path) -> None:
    """As in the recording, where a line of bar states is not clean text for journald."""
    with running(models) as server:
        text = server.text
    assert re.search(r"\rMulti-thread loading shards:   0% [^\n]*\rMulti-thread loading shards: 100% [^\r\n]*\n\[", text)
