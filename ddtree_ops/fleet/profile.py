"""What a hardware profile is made of. The profiles themselves are in `hardware.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum

Value = bool | int | float | str | None | tuple["Value", ...] | Mapping[str, "Value"]


class Interconnect(StrEnum):
    """How the GPUs of the host reach each other."""

    PCIE = "pcie"
    NVLINK = "nvlink"


class Speculation(StrEnum):
    """How the server decodes: one token at a time, DFlash's chain, or DDTree's tree."""

    NONE = "none"
    DFLASH = "dflash"
    DDTREE = "ddtree"


class When(Enum):
    """For which kinds of decoding a default or refusal holds."""

    ALWAYS = frozenset(Speculation)
    NO_DRAFT = frozenset({Speculation.NONE})
    WITH_DRAFT = frozenset({Speculation.DFLASH, Speculation.DDTREE})
    NO_TREE = frozenset({Speculation.NONE, Speculation.DFLASH})
    WITH_TREE = frozenset({Speculation.DDTREE})


@dataclass(frozen=True, slots=True)
class Default:
    """A value that the profile gives a server argument or an environment variable unless the spec says otherwise."""

    name: str
    value: Value
    reason: str
    source: str
    when: When = When.ALWAYS


@dataclass(frozen=True, slots=True)
class Refusal:
    """Values of a server argument or environment variable that can't work here. Empty `values`: any value but false."""

    name: str
    values: frozenset[str]
    reason: str
    source: str
    when: When = When.ALWAYS

    def refuses(self, value: object, speculation: Speculation) -> bool:
        if speculation not in self.when.value or value in (None, False):
            return False
        return not self.values or str(value).lower() in self.values


@dataclass(frozen=True, slots=True)
class HardwareProfile:
    """One kind of host.

    `gpu_names` are nvidia-smi's names; `sibling_names` belong to cards that mostly fit but deserve a warning.
    `memory_mib` is nvidia-smi's memory.total of one GPU. `driver_floor` is a driver branch (major version).
    `shared_memory_bytes` is the most that one block of a kernel may use. `sources` says for each of these fields why.
    """

    name: str
    title: str
    gpu_count: int
    gpu_names: tuple[str, ...]
    sibling_names: tuple[str, ...]
    compute_cap: str
    memory_mib: int
    shared_memory_bytes: int
    interconnect: Interconnect
    driver_floor: int
    sources: Mapping[str, str]
    server_args: tuple[Default, ...]
    environment: tuple[Default, ...]
    argument_refusals: tuple[Refusal, ...] = ()
    environment_refusals: tuple[Refusal, ...] = ()

    def argument_defaults(self, speculation: Speculation) -> dict[str, Default]:
        """Defaults of server arguments for this kind of decoding, by name."""
        return {default.name: default for default in self.server_args if speculation in default.when.value}

    def environment_defaults(self, speculation: Speculation) -> dict[str, Default]:
        """Defaults of environment variables for this kind of decoding, by name."""
        return {default.name: default for default in self.environment if speculation in default.when.value}
