"""Reading a release's server.json (schema `ddtree-ops/server/v1`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA = "ddtree-ops/server/v1"
FILE_NAME = "server.json"


class ConfigError(Exception):
    """The release, its server.json or a credential can't be used; the text is one line."""


@dataclass(frozen=True, slots=True)
class Credential:
    """Where one systemd credential goes: into an argument of SGLang, or into an environment variable."""

    name: str
    argument: str | None
    environment: str | None


@dataclass(frozen=True, slots=True)
class ProbeRequest:
    """The generation that proves readiness. `timeout_s` seconds for one answer."""

    prompt: str
    max_new_tokens: int
    timeout_s: float


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """What to start and how long it may take. Seconds everywhere; `model_bytes` is the size of all weights to read."""

    release: str
    port: int
    listen: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    credentials: tuple[Credential, ...]
    model_bytes: int | None
    probe: ProbeRequest
    stall_after_s: float
    load_budget_s: float
    drain_s: float

    @property
    def api_key_credential(self) -> str | None:
        """The name of the credential that holds the server's API key, if there is one."""
        return next((entry.name for entry in self.credentials if entry.argument == "--api-key"), None)


def load(path: Path) -> ServerConfig:
    """Read and check a server.json. Raises ConfigError."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{path}: not JSON: {error}") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ConfigError(f"{path}: expected the schema {SCHEMA}")
    try:
        return _config(data)
    except KeyError as error:
        raise ConfigError(f"{path}: {error.args[0]} is missing") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"{path}: {error}") from None


def _config(data: Mapping[str, Any]) -> ServerConfig:
    argv = data["argv"]
    if not isinstance(argv, list) or not all(isinstance(word, str) for word in argv):
        raise ValueError("argv must be a list of strings")
    model_bytes = data.get("model_bytes")
    return ServerConfig(
        release=str(data["release"]),
        port=int(data["port"]),
        listen=str(data["listen"]),
        argv=tuple(argv),
        environment={str(name): str(value) for name, value in data.get("environment", {}).items()},
        credentials=tuple(_credential(name, entry) for name, entry in data.get("credentials", {}).items()),
        model_bytes=None if model_bytes is None else int(model_bytes),
        probe=_probe(data["probe"]),
        stall_after_s=_positive(data, "stall_after_s"),
        load_budget_s=_positive(data, "load_budget_s"),
        drain_s=_positive(data, "drain_s"),
    )


def _probe(data: Mapping[str, Any]) -> ProbeRequest:
    return ProbeRequest(str(data["prompt"]), int(data["max_new_tokens"]), _positive(data, "timeout_s"))


def _credential(name: str, entry: Mapping[str, Any]) -> Credential:
    argument, environment = entry.get("argument"), entry.get("environment")
    if (argument is None) == (environment is None):
        raise ValueError(f"credentials.{name} must have either argument or environment")
    return Credential(name, argument, environment)


def _positive(data: Mapping[str, Any], key: str) -> float:
    value = float(data[key])
    if value <= 0:
        raise ValueError(f"{key} must be above 0, not {value}")
    return value
