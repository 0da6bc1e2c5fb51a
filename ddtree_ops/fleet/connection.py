"""How a host is reached over SSH, from the variables that Ansible's ssh connection reads.

Both sides must go the same way: Ansible with its own ssh, and ddtree-ops with its SSH adapter. So what can't be
honoured by both is refused here instead of being ignored by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ddtree_ops.fleet.mistakes import Mistake
from ddtree_ops.fleet.nodes import Entry, ScalarNode, VaultNode, kind
from ddtree_ops.fleet.ssh_options import SshOptions, expand_home, parse_ssh_options
from ddtree_ops.fleet.templates import is_template
from ddtree_ops.units.whole_number import MOST_PORT, whole_number

# Names in rising precedence, as listed by ansible/plugins/connection/ssh.py (ansible-core 2.19).
_ADDRESS = ("ansible_ssh_host", "ansible_host")
_PORT = ("ansible_ssh_port", "ansible_port")
_USER = ("ansible_ssh_user", "ansible_user")
_KEY_FILE = ("ansible_private_key_file", "ansible_ssh_private_key_file")
# ssh obeys the first of several values: Ansible puts the former before its own -o Port, User and IdentityFile, the latter
# behind them (_build_command of the same file).
_FIRST_ARGUMENTS = ("ansible_ssh_args",)
_LAST_ARGUMENTS = ("ansible_ssh_common_args", "ansible_ssh_extra_args")
_PASSWORDS = ("ansible_password", "ansible_ssh_pass", "ansible_ssh_password", "ansible_become_password",
              "ansible_become_pass", "ansible_sudo_pass", "ansible_ssh_private_key", "ansible_private_key",
              "ansible_private_key_passphrase", "ansible_ssh_private_key_passphrase")  # fmt: skip
_HOST_KEY_CHECKING = ("ansible_host_key_checking", "ansible_ssh_host_key_checking")
_YES = ("yes", "true", "on", "1", "y")
_NO = ("no", "false", "off", "0", "n")
_TRANSPORTS = ("ssh", "smart", "ansible.builtin.ssh")


@dataclass(frozen=True, slots=True)
class Connection:
    """Where and how to log in. None means: as ssh_config says, or ssh's own default.

    `options` are the settings without a field of their own, by their ssh_config(5) names in small letters: `proxyjump`
    (one [user@]host[:port]), `userknownhostsfile`, `connecttimeout`, `serveraliveinterval`, `serveralivecountmax`.
    `become`: commands run through sudo, as Ansible's would.
    """

    address: str
    port: int | None = None
    user: str | None = None
    private_key_file: str | None = None
    ssh_config_file: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    become: bool = False


def read_connection(host: str, variables: Mapping[str, Entry], mistakes: list[Mistake]) -> Connection:
    """The connection of `host`; what is wrong with it is appended to `mistakes`."""
    mistakes.extend(_refusals(variables))
    reader = _Reader(variables, mistakes)
    own = SshOptions(private_key_file=reader.key_file(), user=reader.text(_USER), port=reader.port())
    ssh = reader.ssh_options(own)
    return Connection(
        address=ssh.host_name or reader.text(_ADDRESS) or host,
        port=ssh.port,
        user=ssh.user,
        private_key_file=ssh.private_key_file,
        ssh_config_file=ssh.config_file,
        options=ssh.options,
        become=reader.yes("ansible_become"),
    )


def _refusals(variables: Mapping[str, Entry]) -> Iterator[Mistake]:
    for name in _PASSWORDS:
        entry = variables.get(name)
        if entry and not isinstance(entry.value, VaultNode) and not _is_empty(entry):
            text = "a secret in clear text; use an SSH key or agent, or encrypt the value with ansible-vault"
            yield Mistake(entry.place, name, text)
    for name in _HOST_KEY_CHECKING:
        entry = variables.get(name)
        if entry and isinstance(entry.value, ScalarNode) and entry.value.text.lower() in _NO:
            text = "turns host key checking off, so anybody could pose as this host; put its key into known_hosts"
            yield Mistake(entry.place, name, text)
    entry = variables.get("ansible_connection")
    if entry and isinstance(entry.value, ScalarNode) and entry.value.value not in _TRANSPORTS:
        yield Mistake(entry.place, "ansible_connection", "hosts are reached over SSH only; expected ssh")


def _is_empty(entry: Entry) -> bool:
    return isinstance(entry.value, ScalarNode) and entry.value.value in (None, "")


class _Reader:
    def __init__(self, variables: Mapping[str, Entry], mistakes: list[Mistake]) -> None:
        self._variables = variables
        self._mistakes = mistakes

    def text(self, names: tuple[str, ...]) -> str | None:
        """The text of the last of `names` that is set."""
        found = [text for name in names if (text := self._text(name))]
        return found[-1] if found else None

    def port(self) -> int | None:
        text = self.text(_PORT)
        if text is None:
            return None
        if port := whole_number(text, MOST_PORT):
            return port
        entry = next(self._variables[name] for name in reversed(_PORT) if name in self._variables)
        self._mistakes.append(Mistake(entry.place, str(entry.key), "expected a port from 1 to 65535"))
        return None

    def yes(self, name: str) -> bool:
        entry = self._variables.get(name)
        return entry is not None and isinstance(entry.value, ScalarNode) and entry.value.text.lower() in _YES

    def key_file(self) -> str | None:
        """Ansible expands `~` in it, too."""
        name = self.text(_KEY_FILE)
        return expand_home(name) if name else None

    def ssh_options(self, own: SshOptions) -> SshOptions:
        """`own`, what the other variables say, between the arguments that stand before and behind it on ssh's command line."""
        options = SshOptions()
        for name in _FIRST_ARGUMENTS:
            options = self._below(options, name)
        options = options.below(own)
        for name in _LAST_ARGUMENTS:
            options = self._below(options, name)
        return options

    def _below(self, options: SshOptions, name: str) -> SshOptions:
        text = self._text(name)
        if not text:
            return options
        found, reasons = parse_ssh_options(text, options)
        place = self._variables[name].place
        self._mistakes += [Mistake(place, name, reason) for reason in reasons]
        return found

    def _text(self, name: str) -> str | None:
        entry = self._variables.get(name)
        if entry is None or _is_empty(entry):
            return None
        node = entry.value
        if not isinstance(node, ScalarNode) or isinstance(node.value, bool):
            self._mistakes.append(Mistake(entry.place, name, f"expected text, got {kind(node)}"))
            return None
        if is_template(node):
            text = "is a Jinja template, which only Ansible can evaluate; write the value itself"
            self._mistakes.append(Mistake(entry.place, name, text))
            return None
        return str(node.value)
