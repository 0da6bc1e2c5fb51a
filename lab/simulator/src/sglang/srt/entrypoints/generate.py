"""SGLang's own /generate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sglang.srt.entrypoints.application import Application
from sglang.srt.managers.tokenizer_manager import BadRequest, SamplingParams

if TYPE_CHECKING:
    from sglang.srt.entrypoints.http_handler import Handler


def handle(handler: Handler, application: Application, body: dict[str, Any]) -> None:
    """Answer with one document, a list for a list of texts, or a stream of what is there so far."""
    text = body.get("text")
    params = SamplingParams.read(body.get("sampling_params") or {})
    if isinstance(text, list) and not body.get("stream"):
        streams = [_outputs(application, item, params, None) for item in text]
        handler.answer([_last(stream) for stream in streams])
        return
    outputs = _outputs(application, text, params, body.get("rid"))
    if body.get("stream"):
        handler.stream(outputs)
    else:
        handler.answer(_last(outputs))


def _outputs(application: Application, text: Any, params: SamplingParams, rid: str | None) -> Iterator[dict[str, Any]]:
    if not isinstance(text, str):
        raise BadRequest("Either text, input_ids or input_embeds should be provided; the simulator takes text.")
    answers = application.tokenizer_manager.generate(text, params, rid)
    return (output(application, answer) for answer in answers)


def output(application: Application, answer: dict[str, Any]) -> dict[str, Any]:
    """A generation so far, in /generate's form."""
    meta = {
        "id": answer["rid"],
        "finish_reason": answer["finish_reason"],
        "prompt_tokens": answer["prompt_tokens"],
        "weight_version": application.server_args.weight_version,
        "total_retractions": 0,
        "completion_tokens": len(answer["output_ids"]),
        "cached_tokens": answer["cached_tokens"],
    }
    verify = answer["spec_verify_ct"]
    if application.server_args.speculative_algorithm:
        proposed = (application.server_args.speculative_num_draft_tokens or 1) - 1
        meta |= {
            "spec_accept_rate": answer["correct_drafts"] / (verify * proposed) if verify and proposed else 0.0,
            "spec_accept_length": len(answer["output_ids"]) / verify if verify else 0.0,
            "spec_accept_token_num": answer["correct_drafts"],
            "spec_draft_token_num": verify * proposed,
            "spec_verify_ct": verify,
        }
    meta["e2e_latency"] = answer["e2e_latency"]
    return {"text": answer["text"], "output_ids": answer["output_ids"], "meta_info": meta}


def _last(outputs: Iterator[dict[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for result in outputs:  # noqa: B007
        continue
    return result
