"""The part of ssh's command line that may stand in ansible_ssh_common_args (options of ssh(1), OpenSSH 9.2)."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

_SUPPORTED = "-F FILE, -o Key=Value, -J HOST, -i FILE, -l USER, -p PORT"
_WITH_VALUE = ("-F", "-o", "-J", "-i", "-l", "-p")
_HARMLESS = ("-4", "-6", "-C", "-q", "-T")  # address family, compression, quietness: no matter for us

# ssh_config(5) keywords that let an unknown or changed host key pass, with the values that do so.
_WEAKENING: dict[str, tuple[str, ...]] = {
    "stricthostkeychecking": ("no", "off", "accept-new"),
    "userknownhostsfile": ("/dev/null", "none"),
    "globalknownhostsfile": ("/dev/null", "none"),
    "nohostauthenticationforlocalhost": ("yes",),
    "verifyhostkeydns": ("yes",),
    "knownhostscommand": (),
}


@dataclass(frozen=True, slots=True)
class SshOptions:
    config_file: str | None = None
    private_key_file: str | None = None
    user: str | None = None
    port: int | None = None
    options: dict[str, str] = field(default_factory=dict)

    def below(self, other: SshOptions) -> SshOptions:
        """Both; of single options ssh takes the last -F, and the first of anything else."""
        return SshOptions(
            config_file=other.config_file or self.config_file,
            private_key_file=self.private_key_file or other.private_key_file,
            user=self.user or other.user,
            port=self.port or other.port,
            options={**other.options, **self.options},
        )


def parse_ssh_options(text: str) -> tuple[SshOptions, tuple[str, ...]]:
    """The options in `text`, and a reason for each one that is refused."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        return SshOptions(), (f"can't be split into words: {error}",)
    found = SshOptions()
    reasons: list[str] = []
    for flag, value in _pairs(words):
        if flag in _HARMLESS:
            continue
        reason = _refusal(flag, value)
        if reason:
            reasons.append(reason)
        else:
            found = found.below(_one(flag, value))
    return found, tuple(reasons)


def _pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    remaining = iter(words)
    for word in remaining:
        flag, value = word[:2], word[2:]
        if flag in _WITH_VALUE:
            yield flag, value or next(remaining, "")
        else:
            yield word, ""


def _refusal(flag: str, value: str) -> str | None:
    if flag not in _WITH_VALUE:
        return f"{flag} isn't supported; supported are {_SUPPORTED}"
    if not value:
        return f"{flag} needs a value"
    if flag == "-p" and not (value.isascii() and value.isdigit() and 0 < int(value) < 65536):
        return "-p needs a port from 1 to 65535"
    return _option_refusal(*_split(value)) if flag == "-o" else None


def _option_refusal(key: str, value: str) -> str | None:
    if not key or not value:
        return "-o needs Key=Value"
    weakening = _WEAKENING.get(key.lower())
    if weakening is not None and (not weakening or value.lower() in weakening):
        return f"-o {key}={value} weakens host key checking, so anybody could pose as this host; use known_hosts"
    if key.lower() == "proxycommand" and "stricthostkeychecking" in value.lower():
        return "-o ProxyCommand weakens host key checking of the jump host; use -J and known_hosts"
    return None


def _one(flag: str, value: str) -> SshOptions:
    match flag:
        case "-F":
            return SshOptions(config_file=value)
        case "-i":
            return SshOptions(private_key_file=value)
        case "-l":
            return SshOptions(user=value)
        case "-p":
            return SshOptions(port=int(value))
        case "-J":
            return SshOptions(options={"proxyjump": value})
        case _:
            key, setting = _split(value)
            return SshOptions(options={key.lower(): setting})


def _split(option: str) -> tuple[str, str]:
    """`Key=Value` or `Key Value`, both of which ssh takes."""
    key, _, value = option.replace("=", " ", 1).strip().partition(" ")
    return key, value.strip()
