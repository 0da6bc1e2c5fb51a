"""Secrets in a spec are references, never values: where the controller finds them when it deploys."""

from __future__ import annotations

import re

KNOWN_SECRETS = {
    "api_key": "key that requests must carry",
    "admin_api_key": "key for the management endpoints",
    "hf_token": "Hugging Face token, as HF_TOKEN in the server's environment",
}
EXPECTED = "a reference: {env: NAME}, {file: PATH} or {vault: VARIABLE}"

# Where a value would end up readable by everybody on the host (argv) or in files that aren't secret.
_SECRET_ARGUMENTS = {"api-key": "api_key", "admin-api-key": "admin_api_key", "hf-token": "hf_token"}
_SECRET_ARGUMENT = re.compile(r"(api-?key|password|passphrase|secret|auth-token|access-token)$")
_SECRET_VARIABLE = re.compile(
    r"(API_?KEY|PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIALS?)|(^|_)(TOKEN|ACCESS_KEY|PRIVATE_KEY)$", re.IGNORECASE
)
_FOR_VARIABLE = {"HF_TOKEN": "hf_token", "HUGGING_FACE_HUB_TOKEN": "hf_token", "SGLANG_API_KEY": "api_key"}


def argument_hint(name: str) -> str | None:
    """Why a server argument of this name is refused, or None if it doesn't look like a secret."""
    secret = _SECRET_ARGUMENTS.get(name)
    if secret is None and not _SECRET_ARGUMENT.search(name):
        return None
    return _hint("a command line is readable by every user of the host", secret)


def variable_hint(name: str) -> str | None:
    """Why an environment variable of this name is refused, or None if it doesn't look like a secret."""
    if not _SECRET_VARIABLE.search(name):
        return None
    secret = _FOR_VARIABLE.get(name.upper())
    return _hint("the environment of a release is written to disk in clear text", secret)


def _hint(reason: str, secret: str | None) -> str:
    where = f"ddtree_serving.secrets.{secret}" if secret else f"ddtree_serving.secrets, which knows {', '.join(KNOWN_SECRETS)}"
    return f"looks like a secret, and {reason}; use {where}"


def value_problem(value: str) -> str | None:
    """Why a secret's value can't be used, in words that don't show it; None if it can. One newline at the end is fine.

    The rule is the roles' and the launcher's: what an HTTP header carries unchanged.
    """
    text = value.removesuffix("\n")
    if not text.strip():
        return "is empty"
    if not text.isascii() or not text.isprintable() or text != text.strip():
        return "must be one line of printable ASCII characters without spaces around it"
    return None
