"""ServingSpec: what a host shall serve, and the command line and environment that follow from it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator

from ddtree_ops.fleet import secret_refs, server_args
from ddtree_ops.fleet.finding import NO_WAIVERS
from ddtree_ops.fleet.finding_ids import KNOWN
from ddtree_ops.fleet.gate_section import GateSpec
from ddtree_ops.fleet.mistakes import nearest, nearest_words
from ddtree_ops.fleet.profile import HardwareProfile, Speculation, Value
from ddtree_ops.fleet.sections import (
    DdtreeSpec,
    Duration,
    ModelSpec,
    RuntimeSpec,
    SecretRef,
    Section,
    SmokePrompt,
    Source,
    WaiverSpec,
    wrong,
)
from ddtree_ops.fleet.settings import Setting, argument_settings, argv_of, environment_settings

__all__ = ["DdtreeSpec", "GateSpec", "ModelSpec", "RuntimeSpec", "SecretRef", "ServingSpec", "SmokePrompt", "Source"]

_OWN_VARIABLES = ("CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET", "WATCHDOG_USEC", "STATE_DIRECTORY", "CACHE_DIRECTORY")


def is_loopback(listen: str) -> bool:
    """Whether only this host can connect to that listen address."""
    return listen == "localhost" or ipaddress.ip_address(listen).is_loopback


def _listen(text: str) -> str:
    try:
        is_loopback(text)
    except ValueError:
        raise wrong("expected an IP address such as 127.0.0.1, or localhost") from None
    return text


def _argument_name(text: str) -> str:
    name = server_args.canonical(text)
    if text.startswith("-") or not server_args.is_name(name):
        raise wrong("expected the argument's name without dashes in front, such as tp-size")
    if name in server_args.OWNED:
        raise wrong(f"is set by ddtree-ops; its place is {server_args.OWNED[name]}")
    if hint := secret_refs.argument_hint(name):
        raise wrong(hint)
    return name


def _argument_value(value: object) -> object:
    if problem := server_args.value_problem(value):
        raise wrong(problem)
    return tuple(value) if isinstance(value, list) else value


def _variable_name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise wrong("expected the name of an environment variable")
    if text in _OWN_VARIABLES:
        raise wrong("is set by systemd for the server")
    if hint := secret_refs.variable_hint(text):
        raise wrong(hint)
    return text


def _variable_value(text: str | None) -> str | None:
    if text is not None and any(character in text for character in "\n\r\0"):
        raise wrong("contains a line break or null character")
    return text


def _secret_name(text: str) -> str:
    if text not in secret_refs.KNOWN_SECRETS:
        known = ", ".join(secret_refs.KNOWN_SECRETS)
        raise wrong(f"unknown secret; known are {known}{nearest(text, secret_refs.KNOWN_SECRETS)}")
    return text


def _finding_name(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]{1,60}", text):
        raise wrong("expected the id of a finding, as `ddtree-ops plan` shows it in brackets")
    if text in NO_WAIVERS:
        raise wrong(f"can't be waived: {NO_WAIVERS[text]}")
    if text not in KNOWN:
        close = nearest_words(text, KNOWN)
        meant = f"; near it: {', '.join(close)}" if close else "; `ddtree-ops plan --verbose` shows ids in brackets"
        raise wrong(f"there is no such finding{meant}")
    return text


def _canonical_names(value: object) -> object:
    """Spec files have canonical names already (repeats are found there); this is for specs made in Python."""
    if not isinstance(value, Mapping):
        return value
    return {(key if str(key).startswith("-") else server_args.canonical(str(key))): item for key, item in value.items()}


ServerArgs = Annotated[
    dict[Annotated[str, AfterValidator(_argument_name)], Annotated[Any, PlainValidator(_argument_value)]],
    BeforeValidator(_canonical_names),
]
Environment = dict[Annotated[str, AfterValidator(_variable_name)], Annotated[str | None, AfterValidator(_variable_value)]]
_DEFAULT_SMOKE = (SmokePrompt(prompt="The capital of France is"),)


class ServingSpec(Section):
    """One server on one host. Durations are seconds."""

    model: ModelSpec = Field(description="the target model")
    draft_model: ModelSpec | None = Field(default=None, description="the DFlash draft; without it nothing is speculated")
    # SGLang 0.5.13.post1 opens a gRPC port 10000 above this one and refuses to start if that is beyond 65535.
    port: int = Field(default=30000, ge=1024, le=55535, description="the server's port; the unit is ddtree-server@PORT")
    listen: Annotated[str, AfterValidator(_listen)] = Field(
        default="127.0.0.1", description="address to listen on; wider than loopback needs secrets.api_key"
    )
    ddtree: DdtreeSpec | None = Field(default=None, description="tree speculation; left out with a draft: plain DFLASH")
    server_args: ServerArgs = Field(
        default={},
        description="more SGLang arguments (`-` or `_`): true = bare flag, false or null = left out, list = several words, "
        "mapping = JSON",
    )
    environment: Environment = Field(default={}, description="variables of the server process; null drops a profile's default")
    secrets: dict[Annotated[str, AfterValidator(_secret_name)], SecretRef] = Field(
        default={}, description=f"{', '.join(secret_refs.KNOWN_SECRETS)}, each as {secret_refs.EXPECTED}"
    )
    runtime: RuntimeSpec = Field(default=RuntimeSpec(), description="what the server runs on")
    load_budget: Duration = Field(default=1800, description="longest time from start to ready")
    stall_after: Duration = Field(default=600, description="longest time in which nothing moves while loading")
    drain: Duration = Field(default=60, description="time that running requests get at a stop")
    smoke: Annotated[tuple[SmokePrompt, ...], Field(strict=False)] = Field(
        default=_DEFAULT_SMOKE, description="prompts that must be answered after a deploy"
    )
    waivers: dict[Annotated[str, AfterValidator(_finding_name)], WaiverSpec | None] = Field(
        default={},
        description="findings of `plan` that count for nothing for a while: {finding: {reason: ..., until: 2026-12-31}}; "
        "null drops an inherited one. Some can't be waived: " + ", ".join(NO_WAIVERS),
    )
    gate: GateSpec = Field(default=GateSpec(), description="when a release with `ddtree` is good enough to be kept")

    @property
    def speculation(self) -> Speculation:
        """How this server decodes."""
        if self.draft_model is None:
            return Speculation.NONE
        return Speculation.DFLASH if self.ddtree is None else Speculation.DDTREE

    def own_args(self) -> dict[str, Value]:
        """The arguments that follow from the spec's own sections, in the order of the command line."""
        own: dict[str, Value] = {"model-path": self.model.path, "host": self.listen, "port": self.port}
        if self.draft_model is not None:
            own["speculative-algorithm"] = self.speculation.upper()
            own["speculative-draft-model-path"] = self.draft_model.path
        if self.ddtree is not None:
            schedule = self.ddtree.budget_schedule or {}
            own["speculative-dflash-block-size"] = self.ddtree.block_size
            own["speculative-ddtree-budget"] = self.ddtree.budget
            own["speculative-ddtree-topk-cap"] = self.ddtree.topk_cap
            own["speculative-ddtree-budget-schedule"] = ",".join(f"{n}:{budget}" for n, budget in schedule.items()) or None
        return own

    def argument_settings(self, hardware: HardwareProfile) -> tuple[Setting, ...]:
        """Every server argument with where it came from, in the order of the command line."""
        return argument_settings(self.own_args(), self.server_args, hardware, self.speculation)

    def environment_settings(self, hardware: HardwareProfile) -> tuple[Setting, ...]:
        """Every environment variable with where it came from, by name."""
        return environment_settings(self.environment, hardware, self.speculation)

    def server_argv(self, hardware: HardwareProfile) -> tuple[str, ...]:
        """The arguments of `python -m sglang.launch_server`, without secrets. The same spec gives the same words."""
        return argv_of(self.argument_settings(hardware))

    def environment_for(self, hardware: HardwareProfile) -> dict[str, str]:
        """The server's environment variables, without secrets."""
        return {one.name: str(one.value) for one in self.environment_settings(hardware) if one.value is not None}
