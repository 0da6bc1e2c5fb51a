"""The language that the simulated models speak: a reversible tokenizer and answers that depend on the prompt alone."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

EOS = 0
_BYTES = 1  # tokens 1..256 are single bytes, so that any text can be encoded
_WORDS_FROM = 257
_VOCABULARY = """
a able about after again all almost also an and any are around as at back because before being below best between
block both branch bus but by cache call can case check clear close code column common copy core could count cycle data
day deep depth does done down draft each early edge end enough even every fact far fast few field file first five flow
follow form found four free from full gate get give go good graph great group grow had half has have head help here
high hold how idea if in into is it item its just keep key kind know large last late layer lead left length less let
level light like limit line link list little local long look low main make many map mark may mean might mode model
more most move much must name near need never new next no node not note now number of off often old on once one only
open or order other our out over own page part pass path place plain plan point port prefix proof queue quick range
rank rate read real rest right ring root row rule run same scale second see send serve set seven shape share short
show side since single size slow small so some space speed stage start state step still stop store such sum sure table
take target task tell ten than that the their then there these they thing this those three through time to token too
top trace tree true try turn two type under unit until up us use value verify very view wait walk want was way we
weight well what when where which while who why wide width will with word work would write year yes you your zero
Paris London Berlin Tokyo Rome four . , capital France city river four 4 blue Pacific Shakespeare Python
"""
_WORDS = tuple(f" {word}" for word in _VOCABULARY.split())
_ID: Mapping[str, int] = {word: _WORDS_FROM + index for index, word in enumerate(dict.fromkeys(_WORDS))}
_TEXT: Mapping[int, str] = {number: word for word, number in _ID.items()}
VOCAB_SIZE = _WORDS_FROM + len(_ID)

# What the models know: the end of a prompt (lower case, without markup) and how the text goes on.
CANARIES: Mapping[str, str] = {
    "the capital of france is": " Paris. It is the largest city of the country, on the river Seine.",
    "the capital of germany is": " Berlin. It lies on the river Spree.",
    "the capital of japan is": " Tokyo. It is the largest city of the country.",
    "the capital of italy is": " Rome. It lies on the river Tiber.",
    "what is the capital of france?": "Paris is the capital of France.",
    "what is the capital of germany?": "Berlin is the capital of Germany.",
    "what is the capital of japan?": "Tokyo is the capital of Japan.",
    "2 + 2 =": " 4",
    "2+2=": "4",
    "what is 2 + 2?": "2 + 2 is 4.",
    "what is 2+2?": "2+2 is 4.",
    "one, two, three,": " four, five, six, seven, eight, nine, ten.",
    "1, 2, 3, 4,": " 5, 6, 7, 8, 9, 10.",
    "the color of the sky is": " blue on a clear day.",
    "the largest ocean on earth is": " the Pacific Ocean.",
    "romeo and juliet was written by": " William Shakespeare.",
    "ping": "pong",
}


def encode(text: str) -> list[int]:
    """Tokens of a text: known words with their space in front, single bytes for all else."""
    tokens: list[int] = []
    position = 0
    while position < len(text):
        end = text.find(" ", position + 1)
        end = len(text) if end < 0 else end
        piece = text[position:end]
        body = piece.rstrip(".,")
        if body in _ID:
            tokens.append(_ID[body])
            piece = piece[len(body) :]
        tokens.extend(_BYTES + byte for byte in piece.encode("utf-8", "surrogatepass"))
        position = end
    return tokens


def decode(tokens: Sequence[int]) -> str:
    """The text of tokens, end marks left out. Half a character at the end becomes a replacement character."""
    data = bytearray()
    for token in tokens:
        if token in _TEXT:
            data += _TEXT[token].encode()
        elif _BYTES <= token < _WORDS_FROM:
            data.append(token - _BYTES)
    return data.decode("utf-8", "replace")


class Continuation:
    """How a text goes on after one prompt: the greedy path of the target model, position by position.

    `parts_at`: from this position on it is another text, as another model would write it; known answers stay.
    """

    def __init__(self, prompt: Sequence[int], *, wrong: bool = False, parts_at: int | None = None) -> None:
        self._parts_at = parts_at
        self._seed = zlib.crc32(b",".join(b"%d" % token for token in prompt))
        self._wrong = wrong
        known = CANARIES.get(_last_line(decode(prompt)))
        self._known = tuple(encode(known)) if known is not None else ()
        self._length = len(self._known) or 24 + self.number("length", 0) % 104

    def number(self, salt: str, position: int) -> int:
        """A number that looks random and depends only on the prompt, the salt and the position."""
        mixed = zlib.crc32(f"{salt}:{position}:{self._seed}".encode())
        return ((mixed * 0x9E3779B1) & 0xFFFFFFFF) >> 7

    def token_at(self, position: int, *, ignore_eos: bool) -> int:
        """The token at `position` after the prompt (0: the first); EOS where the text ends."""
        if self._wrong:
            return _BYTES + ord("!")
        if position < len(self._known):
            return self._known[position]
        if position >= self._length and not ignore_eos:
            return EOS
        parted = self._parts_at is not None and position >= self._parts_at
        return _WORDS_FROM + self.number("other word" if parted else "word", position) % len(_ID)


def _last_line(text: str) -> str:
    """The last thing said in a prompt, without the role marks of the chat template, in lower case."""
    said = text.replace("<|im_end|>\n<|im_start|>assistant\n", "").rstrip()
    return said.rpartition("\n")[2].strip().lower()
