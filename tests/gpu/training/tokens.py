"""A small byte-level BPE, trained on the corpus, saved as transformers reads it; and the token streams of documents."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tests.gpu.training.layout import END_OF_TEXT, END_OF_TURN, SPECIAL_TOKENS

CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
)


def train_tokenizer(documents: Iterable[str], vocabulary: int) -> Any:
    """A `tokenizers.Tokenizer` with the special tokens first, then all bytes, then merges."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=list(SPECIAL_TOKENS), initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(documents, trainer)
    return tokenizer


def save_tokenizer(tokenizer: Any, folder: Path, context: int) -> None:
    tokenizer.save(str(folder / "tokenizer.json"))
    words = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": SPECIAL_TOKENS[END_OF_TURN],
        "pad_token": SPECIAL_TOKENS[END_OF_TEXT],
        "model_max_length": context,
        "chat_template": CHAT_TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(words, indent=1))


def load_tokenizer(folder: Path) -> Any:
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(folder / "tokenizer.json"))


def stream(tokenizer: Any, documents: Iterable[str]) -> Tensor:
    """All documents' tokens in one row, each closed by the end token."""
    rows = [[*encoded.ids, END_OF_TURN] for encoded in tokenizer.encode_batch(list(documents))]
    return torch.tensor([token for row in rows for token in row], dtype=torch.long)


def windows(tokens: Tensor, count: int, length: int, draw: torch.Generator) -> Tensor:
    """`count` random stretches [count, length] of the stream."""
    starts = torch.randint(0, len(tokens) - length, (count, 1), generator=draw)
    return tokens[starts + torch.arange(length)]
