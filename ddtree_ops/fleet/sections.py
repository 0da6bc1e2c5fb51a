"""The sections of a serving spec (`ddtree_serving`), as strict immutable models.

Each field's description is its documentation: the reference (`reference.py`) and the messages are made from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from ddtree_ops.fleet import secret_refs
from ddtree_ops.fleet.duration import parse_duration

MODEL = "{model}/"  # at the start of a manifest's path: the model's directory, on the host
BLOBS = "{blobs}"  # as a manifest: the names of a Hugging Face cache's blobs
MOST_BYTES = 2**50  # 1 PiB: larger than any host of one server
MOST_MIB = MOST_BYTES // 2**20
PROJECT = "{project}/"  # at the start of a path: the checkout of ddtree-ops, on the controller


def wrong(text: str) -> PydanticCustomError:
    """A validator's complaint; braces in the text are literal."""
    return PydanticCustomError("spec", "{text}", {"text": text})


def _absolute(text: str) -> str:
    if not text.startswith("/"):
        raise wrong(f"expected an absolute path on the host, got '{text}'")
    if any(ord(character) < 32 for character in text) or "/../" in f"{text}/":
        raise wrong("expected a plain absolute path without '..' or control characters")
    return text.rstrip("/") or "/"


def _plain(text: str) -> str:
    """A path may have any other character; surrogates are in no file name of a UTF-8 machine."""
    if any(ord(character) < 32 or 0xD800 <= ord(character) < 0xE000 for character in text):
        raise wrong("expected a path without control characters")
    return text


def _controller_path(text: str) -> str:
    _plain(text)
    if text.startswith(("/", PROJECT)):
        return text
    raise wrong(f"expected an absolute path on the controller, or one that starts with {PROJECT}")


def _inventory_path(text: str) -> str:
    if not text or any(ord(character) < 32 for character in text):
        raise wrong("expected a path on the controller, absolute or relative to the inventory")
    return text


def _manifest(text: str) -> str:
    """{model}/NAME comes back normalised. The host looks at what NAME leads to: links are known there only."""
    if text == BLOBS or not text.startswith((MODEL[:-1], BLOBS)):
        return _inventory_path(text)
    name = PurePosixPath(text[len(MODEL) :])
    inside = text.startswith(MODEL) and name.parts and not name.is_absolute() and ".." not in name.parts
    if not inside or not str(name).isprintable():
        raise wrong(f"expected {MODEL}NAME with the name of a file in the model's directory, or {BLOBS}")
    return f"{MODEL}{name}"


def _seconds(value: object) -> int:
    try:
        return parse_duration(value)
    except ValueError as error:
        raise wrong(str(error)) from None


def _lock(text: str) -> str:
    if text.startswith("/") or re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", text):
        return text
    raise wrong("expected the name of a lock in deploy/locks (without .txt), or an absolute path")


HostPath = Annotated[str, AfterValidator(_absolute)]
ControllerPath = Annotated[str, AfterValidator(_controller_path)]
InventoryPath = Annotated[str, AfterValidator(_inventory_path)]
ManifestPath = Annotated[str, AfterValidator(_manifest)]
Duration = Annotated[int, BeforeValidator(_seconds)]
BatchSize = Annotated[int, Field(ge=1, le=4096)]


class Section(BaseModel):
    """Strict: no value is converted silently. Frozen: a spec never changes after it was read."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class ModelSpec(Section):
    path: HostPath = Field(description="directory of the weights on the host")
    bytes: int | None = Field(
        default=None, ge=1, le=MOST_BYTES, description="size of all weight files, for a load percentage and disk checks"
    )
    manifest: ManifestPath | None = Field(
        default=None,
        description="list of the model's files with their sha256 (lines of sha256sum, or JSON), checked before a deploy: a path "
        f"relative to the inventory, or {MODEL}NAME for a file of the model itself, or {BLOBS} in a Hugging Face cache",
    )


class DdtreeSpec(Section):
    block_size: int = Field(default=8, ge=2, le=64, description="tokens that the DFlash draft fills in one pass")
    budget: int = Field(default=31, ge=1, le=1024, description="draft nodes of the tree; verification sees budget + 1 tokens")
    topk_cap: int | None = Field(default=None, ge=1, description="most candidates taken per depth; at most the budget")
    budget_schedule: Mapping[BatchSize, Annotated[int, Field(ge=1)]] | None = Field(
        default=None, description="smaller budgets for larger batches: {batch size: budget, ...}, batch sizes increasing"
    )


class SecretRef(Section):
    """Where the controller finds a secret. Exactly one of the three is set."""

    env: str | None = Field(default=None, description="name of an environment variable of the controller")
    file: str | None = Field(default=None, description="file on the controller")
    vault: str | None = Field(default=None, description="name of an inventory variable that ansible-vault encrypted")

    @model_validator(mode="after")
    def _exactly_one(self) -> SecretRef:
        given = [name for name in ("env", "file", "vault") if getattr(self, name) is not None]
        if len(given) != 1:
            raise wrong(f"expected {secret_refs.EXPECTED}")
        for name in given:
            pattern = r"~?/[^'\"\\{}\x00-\x1f]+" if name == "file" else r"[A-Za-z_][A-Za-z0-9_]*"
            if not re.fullmatch(pattern, getattr(self, name)):
                what = "an absolute path without quotes or braces" if name == "file" else "the name of a variable, not its value"
                raise wrong(f"'{name}' must be {what} (what was given isn't shown here)")
        return self


class Source(StrEnum):
    """Where the host's packages come from."""

    INDEX = "index"
    WHEELHOUSE = "wheelhouse"


def _source(value: object) -> object:
    if isinstance(value, str) and value in tuple(Source):
        return Source(value)
    raise wrong("expected index or wheelhouse")


class RuntimeSpec(Section):
    lock: Annotated[str, AfterValidator(_lock)] = Field(
        default="sglang-0.5.13.post1-cu130", description="hash lock: a name in deploy/locks, or an absolute path"
    )
    python: HostPath = Field(default="/usr/bin/python3.12", description="Python on the host that the venv is made from")
    source: Annotated[Source, BeforeValidator(_source)] = Field(
        default=Source.INDEX, description="`index` (the host's package index) or `wheelhouse` (a directory that is sent)"
    )
    wheelhouse: ControllerPath | None = Field(default=None, description="directory on the controller, for source: wheelhouse")
    wheels: Annotated[tuple[ControllerPath, ...], Field(strict=False)] = Field(
        default=(), description=f"more local wheels, globs allowed; {PROJECT} at the start means the checkout"
    )
    patches: Annotated[tuple[InventoryPath, ...], Field(strict=False)] = Field(
        default=(), description="unified diffs for the installed packages, applied in this order; paths relative to the inventory"
    )
    # SGLang with its CUDA libraries, unpacked once: releases share files with the package cache.
    free_mib: int = Field(
        default=16384, ge=0, le=MOST_MIB, description="MiB that must be free on the host before a release is staged"
    )
    keep: int = Field(default=3, ge=0, le=100, description="releases kept at a commit besides the current and the last good one")


def _day(value: object) -> object:
    """YAML makes a date of 2026-12-31, a quoted one stays text; a time of day would say more than a waiver can mean."""
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    raise wrong("expected a day such as 2026-12-31")


def _reason(text: str) -> str:
    if len(text.strip()) < 3 or not text.isprintable():
        raise wrong("expected a reason in words, in one line")
    return text.strip()


class WaiverSpec(Section):
    reason: Annotated[str, AfterValidator(_reason)] = Field(
        min_length=3, max_length=300, description="why the finding may stand; shown wherever the waiver is used"
    )
    until: Annotated[date, BeforeValidator(_day)] = Field(description="last day on which it counts")


class SmokePrompt(Section):
    prompt: str = Field(min_length=1, description="text that is sent")
    expect: str | None = Field(default=None, description="text that the answer must contain; null: any answer")
    max_tokens: int = Field(default=16, ge=1, le=4096, description="most tokens of the answer")
