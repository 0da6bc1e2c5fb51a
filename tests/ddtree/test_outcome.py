"""Accepted tokens meet stop conditions one by one, and only what was appended keeps its KV."""

from __future__ import annotations

from dataclasses import dataclass, field

from sglang_ddtree.runtime.outcome import Outcome, append_accepted

STOP = 99


@dataclass
class Request:
    """The part of SGLang's Req that acceptance touches, with its stop rules: a stop token, a length limit, an abort."""

    room: int = 100
    aborted: bool = False
    output_ids: list[int] = field(default_factory=list)
    kv_committed_len: int = 10
    kv_allocated_len: int = 10
    spec_verify_ct: int = 0
    spec_num_correct_drafts: int = 0
    done: bool = False

    def update_finish_state(self) -> None:
        self.done = self.aborted or self.output_ids[-1] == STOP or len(self.output_ids) >= self.room

    def finished(self) -> bool:
        return self.done


def row(*tokens: int, block: int = 4) -> list[int]:
    """A row of `walk_trees`: accepted drafts, nodes, tokens; what lies behind them is whatever it is."""
    accepted = len(tokens) - 1
    nodes = [0, 5, 6, 7][: accepted + 1] + [-1] * (block - accepted - 1)
    return [accepted, *nodes, *tokens, *[STOP] * (block - len(tokens))]


def test_everything_accepted_is_appended() -> None:
    requests = [Request(), Request()]
    outcome = append_accepted(requests, [row(1, 2, 3), row(4)], 4)
    assert [request.output_ids for request in requests] == [[1, 2, 3], [4]]
    assert outcome == Outcome((3, 1), (3, 4))
    assert outcome.total == 4
    assert [request.kv_committed_len for request in requests] == [13, 11]
    assert [request.kv_allocated_len for request in requests] == [13, 11]
    assert [request.spec_num_correct_drafts for request in requests] == [2, 0]


def test_a_stop_token_inside_the_path() -> None:
    request = Request()
    outcome = append_accepted([request], [row(1, STOP, 3, 4)], 4)
    assert request.output_ids == [1, STOP]
    assert (outcome.commit_lens, outcome.last_tokens, request.kv_committed_len) == ((2,), (STOP,), 12)


def test_a_length_limit_inside_the_path() -> None:
    request = Request(room=3)
    assert append_accepted([request], [row(1, 2, 3, 4)], 4).commit_lens == (3,)
    assert request.output_ids == [1, 2, 3]


def test_an_aborted_request_takes_one_token() -> None:
    request = Request(aborted=True)
    assert append_accepted([request], [row(1, 2, 3)], 4).commit_lens == (1,)
