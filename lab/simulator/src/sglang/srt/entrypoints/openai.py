"""The OpenAI-compatible routes: models, completions, chat completions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from sglang.srt.entrypoints.application import Application
from sglang.srt.managers.tokenizer_manager import BadRequest, SamplingParams

if TYPE_CHECKING:
    from sglang.srt.entrypoints.http_handler import Handler

Choice = Callable[[str, str | None], dict[str, Any]]


def models(application: Application) -> dict[str, Any]:
    """GET /v1/models."""
    name = application.server_args.served_model_name
    card = {"id": name, "object": "model", "created": application.created, "owned_by": "sglang", "root": name}
    return {
        "object": "list",
        "data": [{**card, "parent": None, "max_model_len": application.info["context_len"]}],
    }


def completions(handler: Handler, application: Application, body: dict[str, Any]) -> None:
    """POST /v1/completions."""
    prompt = body.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1:
        prompt = prompt[0]
    if not isinstance(prompt, str):
        raise BadRequest("prompt must be a string.")

    def choice(text: str, reason: str | None) -> dict[str, Any]:
        return {"index": 0, "text": text, "logprobs": None, "finish_reason": reason, "matched_stop": None}

    _respond(handler, application, body, prompt, ("cmpl", "text_completion", "text_completion"), choice, choice)


def chat_completions(handler: Handler, application: Application, body: dict[str, Any]) -> None:
    """POST /v1/chat/completions."""
    prompt = _chat_prompt(body.get("messages"))

    def whole(text: str, reason: str | None) -> dict[str, Any]:
        message = {"role": "assistant", "content": text, "reasoning_content": None, "tool_calls": None}
        return {"index": 0, "message": message, "logprobs": None, "finish_reason": reason, "matched_stop": None}

    def part(text: str, reason: str | None) -> dict[str, Any]:
        return {"index": 0, "delta": {"role": "assistant", "content": text}, "logprobs": None, "finish_reason": reason}

    _respond(handler, application, body, prompt, ("chatcmpl", "chat.completion", "chat.completion.chunk"), whole, part)


def _chat_prompt(messages: Any) -> str:
    if not isinstance(messages, list) or not messages:
        raise BadRequest("messages must be a list that is not empty.")
    prompt = ""
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, list):
            content = "".join(str(item.get("text", "")) for item in content if isinstance(item, dict))
        if not isinstance(content, str):
            raise BadRequest("Every message needs a content.")
        prompt += f"<|im_start|>{message.get('role', 'user')}\n{content}<|im_end|>\n"
    return f"{prompt}<|im_start|>assistant\n"


def _respond(
    handler: Handler,
    application: Application,
    body: dict[str, Any],
    prompt: str,
    names: tuple[str, str, str],
    whole: Choice,
    part: Choice,
) -> None:
    tokens = body.get("max_completion_tokens", body.get("max_tokens", 16 if names[0] == "cmpl" else 128))
    params = SamplingParams.read(
        {
            "max_new_tokens": tokens,
            "temperature": body.get("temperature") or 0.0,
            "stop": body.get("stop"),
            "ignore_eos": body.get("ignore_eos", False),
        }
    )
    answers = application.tokenizer_manager.generate(prompt, params)
    head = {"created": int(time.time()), "model": body.get("model", application.server_args.served_model_name)}
    if body.get("stream"):
        handler.stream(_parts(answers, {"object": names[2], **head}, part))
        return
    answer: dict[str, Any] = {}
    for answer in answers:  # noqa: B007
        continue
    choice = whole(answer["text"], answer["finish_reason"]["type"])
    handler.answer({"id": answer["rid"], "object": names[1], **head, "choices": [choice], "usage": _usage(answer)})


def _parts(answers: Iterator[dict[str, Any]], head: dict[str, Any], part: Choice) -> Iterator[dict[str, Any]]:
    sent = 0
    for answer in answers:
        reason = (answer["finish_reason"] or {}).get("type")
        text = answer["text"]
        fresh = text[sent:] if reason or not text.endswith("\N{REPLACEMENT CHARACTER}") else ""
        sent += len(fresh)
        if fresh or reason:
            yield {"id": answer["rid"], **head, "choices": [part(fresh, reason)], "usage": None}


def _usage(answer: dict[str, Any]) -> dict[str, Any]:
    completion = len(answer["output_ids"])
    return {
        "prompt_tokens": answer["prompt_tokens"],
        "total_tokens": answer["prompt_tokens"] + completion,
        "completion_tokens": completion,
        "prompt_tokens_details": {"cached_tokens": answer["cached_tokens"]},
    }
