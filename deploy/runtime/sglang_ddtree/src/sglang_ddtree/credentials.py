"""Secrets of the server: files that systemd puts into $CREDENTIALS_DIRECTORY (`LoadCredential=`, systemd.exec(5))."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from .server_config import ConfigError, Credential, ServerConfig

# What an HTTP header carries unchanged: visible ASCII, spaces only inside (RFC 9110, section 5.5). Role service
# asserts the same before anything is written.
_USABLE = re.compile(r"[!-~]([ -~]*[!-~])?")


@dataclass(frozen=True, slots=True, repr=False)
class Secrets:
    """Arguments and environment variables that hold secrets, and the values, for redaction. Never printed."""

    arguments: tuple[str, ...]
    environment: dict[str, str]
    values: tuple[str, ...]


def read_credential(name: str) -> str:
    """The secret itself, without the newline that editors put behind it. Raises ConfigError, never with the value."""
    directory = os.environ.get("CREDENTIALS_DIRECTORY")
    if not directory:
        raise ConfigError(f"credential {name}: CREDENTIALS_DIRECTORY is not set; does the unit have LoadCredential={name}?")
    try:
        value = (Path(directory) / name).read_text(encoding="utf-8").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"credential {name}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
    if not value.strip():
        raise ConfigError(f"credential {name}: is empty")
    if not _USABLE.fullmatch(value):
        raise ConfigError(f"credential {name}: must be one line of printable ASCII without spaces at its ends")
    return value


def read_secrets(config: ServerConfig) -> Secrets:
    """All secrets that the server needs. Raises ConfigError."""
    arguments: list[str] = []
    environment: dict[str, str] = {}
    values: list[str] = []
    for credential in config.credentials:
        value = read_credential(credential.name)
        values.append(value)
        if credential.environment is not None:
            environment[credential.environment] = value
        arguments.extend(_argument(credential, value))
    return Secrets(tuple(arguments), environment, tuple(values))


def _argument(credential: Credential, value: str) -> tuple[str, ...]:
    # one word, so that a secret beginning with a dash isn't taken for an option
    return (f"{credential.argument}={value}",) if credential.argument is not None else ()
