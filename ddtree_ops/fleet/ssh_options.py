"""The part of ssh's command line that may stand in ansible_ssh_common_args (options of ssh(1), OpenSSH 9.2).

Ansible hands it to ssh; our own connection reads it here. What only ssh would obey is refused, so that both go the same way.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ddtree_ops.units.whole_number import whole_number

_SUPPORTED = "-F FILE, -o Key=Value, -J HOST, -i FILE, -l USER, -p PORT"
_WITH_VALUE = ("-F", "-o", "-J", "-i", "-l", "-p")
_HARMLESS = ("-4", "-6", "-C", "-q", "-T")  # address family, compression, quietness: no matter for us

# ssh_config(5) keywords that say where to and as whom; each has a short flag or a field of its own.
_FLAGS = {"user": "-l", "port": "-p", "identityfile": "-i", "proxyjump": "-J"}
_HOSTNAME = "hostname"
# Kept in `options`, for our connection to read.
_KEPT = ("userknownhostsfile", "connecttimeout", "serveraliveinterval", "serveralivecountmax")
_NUMBERS = _KEPT[1:]
# How Ansible's own connection is shared or what it prints; what is reached stays the same.
_NO_MATTER = ("controlmaster", "controlpath", "controlpersist", "compression", "loglevel", "batchmode")
_KNOWN = "User, Port, HostName, IdentityFile, ProxyJump, UserKnownHostsFile, ConnectTimeout, ServerAlive*, Control*"

# ssh_config(5) keywords that let an unknown or changed host key pass, with the values that do so.
_WEAKENING: dict[str, tuple[str, ...]] = {
    "stricthostkeychecking": ("no", "off", "accept-new"),
    "userknownhostsfile": ("/dev/null", "none"),
    "globalknownhostsfile": ("/dev/null", "none"),
    "nohostauthenticationforlocalhost": ("yes",),
    "verifyhostkeydns": ("yes",),
    "knownhostscommand": (),
}
_STRICT = ("stricthostkeychecking", "yes")


@dataclass(frozen=True, slots=True)
class SshOptions:
    """What was said, None where nothing was. Key files have their `~` expanded, as ssh does it."""

    config_file: str | None = None
    private_key_file: str | None = None
    user: str | None = None
    port: int | None = None
    host_name: str | None = None
    options: dict[str, str] = field(default_factory=dict)

    def below(self, other: SshOptions) -> SshOptions:
        """Both; of single options ssh takes the last -F, and the first of anything else."""
        return SshOptions(
            config_file=other.config_file or self.config_file,
            private_key_file=self.private_key_file or other.private_key_file,
            user=self.user or other.user,
            port=self.port or other.port,
            host_name=self.host_name or other.host_name,
            options={**other.options, **self.options},
        )


def parse_ssh_options(text: str, before: SshOptions | None = None) -> tuple[SshOptions, tuple[str, ...]]:
    """`before` with the options of `text` behind it, and a reason for each one that is refused."""
    found = before or SshOptions()
    try:
        words = shlex.split(text)
    except ValueError as error:
        return found, (f"can't be split into words: {error}",)
    reasons: list[str] = []
    for written, flag, value in _options(words):
        reason = _refusal(written, flag, value, found)
        if reason:
            reasons.append(reason)
        else:
            found = found.below(_one(flag, value))
    return found, tuple(reasons)


def _options(words: list[str]) -> Iterator[tuple[str, str, str]]:
    """As written, the short flag or the keyword of -o in small letters, and its value."""
    for flag, value in _pairs(words):
        if flag != "-o" or not value:
            yield flag, flag, value
            continue
        key, setting = _split(value)
        yield f"-o {key}", _FLAGS.get(key.lower(), key.lower()), setting


def _pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    remaining = iter(words)
    for word in remaining:
        flag, value = word[:2], word[2:]
        if flag in _WITH_VALUE:
            yield flag, value or next(remaining, "")
        else:
            yield word, ""


def _refusal(written: str, flag: str, value: str, before: SshOptions) -> str | None:
    if written.startswith("-o ") or written == "-o":
        if written in ("-o", "-o ") or not value:
            return "-o needs Key=Value"
    elif flag in _HARMLESS:
        return None
    elif flag not in _WITH_VALUE:
        return f"{flag} isn't supported; supported are {_SUPPORTED}"
    elif not value:
        return f"{flag} needs a value"
    return _value_refusal(written, flag, value, before)


def _value_refusal(written: str, flag: str, value: str, before: SshOptions) -> str | None:
    match flag:
        case "-p":
            return None if _is_number(value, 65535) else f"{written} needs a port from 1 to 65535"
        case "-J":
            return _jump_refusal(written, value)
        case "-F" if value.startswith("~"):
            return f"{written} {value}: ssh itself doesn't expand ~ here; write the whole path"
        case "-i" if before.private_key_file not in (None, expand_home(value)):
            return f"{written} names a second key file; only one is tried"
        case "-i" | "hostname" | "userknownhostsfile" if "%" in value:
            return f"{written} {value}: % tokens aren't supported; write the value itself"
        case "-F" | "-i" | "-l" | "hostname":
            return None
        case _:
            return _keyword_refusal(written, flag, value)


def _jump_refusal(written: str, value: str) -> str | None:
    if "," in value:
        return f"{written} {value}: only one jump host is supported; put the way to it into an ssh_config (-F)"
    if value.lower() == "none" or "://" in value or "%" in value:
        return f"{written} {value}: expected [user@]host[:port]"
    return None


def _keyword_refusal(written: str, key: str, value: str) -> str | None:
    weakening = _WEAKENING.get(key)
    if weakening is not None and (not weakening or value.lower() in weakening):
        return f"{written}={value} weakens host key checking, so anybody could pose as this host; use known_hosts"
    if key in _NUMBERS and not _is_number(value, 86400):
        return f"{written} needs a whole number of at least 1"
    if key in (*_KEPT, *_NO_MATTER) or (key, value.lower()) == _STRICT:
        return None
    if key == "proxycommand":
        return f"{written} isn't supported; use -J HOST for a jump host"
    return f"{written} isn't supported; supported are {_KNOWN}"


def _one(flag: str, value: str) -> SshOptions:
    match flag:
        case "-F":
            return SshOptions(config_file=value)
        case "-i":
            return SshOptions(private_key_file=expand_home(value))
        case "-l":
            return SshOptions(user=value)
        case "-p":
            return SshOptions(port=int(value))
        case "-J":
            return SshOptions(options={"proxyjump": value})
        case "hostname":
            return SshOptions(host_name=value)
        case _:
            return SshOptions(options={flag: value} if flag in _KEPT else {})


def expand_home(path: str) -> str:
    """ssh expands `~` in the names of key files (tilde_expand_filename of OpenSSH's misc.c), and so does Ansible."""
    try:
        return str(Path(path).expanduser())
    except RuntimeError:  # ~somebody who isn't there
        return path


def _is_number(value: str, most: int) -> bool:
    return bool(whole_number(value, most))


def _split(option: str) -> tuple[str, str]:
    """`Key=Value` or `Key Value`, both of which ssh takes."""
    key, _, value = option.replace("=", " ", 1).strip().partition(" ")
    return key, value.strip()
