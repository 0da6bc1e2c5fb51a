"""What a release changes against another one: arguments, environment, packages, wheels, patches, lock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ddtree_ops.fleet.drift import Change, Group
from ddtree_ops.fleet.launch_words import flags


def settings_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    """server.json on the host against the same release's here: what the launcher reads at the next start."""
    argv = before.get("argv")
    if isinstance(argv, list) and all(isinstance(word, str) for word in argv):
        yield from _mapping_changes(Group.ARGUMENTS, "argument", flags(argv), flags(after["argv"]))
    for key in sorted(after.keys() if not isinstance(argv, list) else after.keys() - {"argv"}):
        if before.get(key) != after[key]:
            yield Change(f"server.json {key}", str(before.get(key)), str(after[key]), Group.FILES)


def content_changes(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Change]:
    """Between the manifests of two releases."""
    yield from _mapping_changes(Group.ARGUMENTS, "argument", flags(before.get("argv", [])), flags(after["argv"]))
    yield from _mapping_changes(Group.ENVIRONMENT, "environment", before.get("environment", {}), after["environment"])
    yield from _mapping_changes(Group.PACKAGES, "wheel", _short(before.get("wheels", {})), _short(after["wheels"]))
    yield from _mapping_changes(Group.PATCHES, "patch", _patches(before.get("patches")), _patches(after["patches"]))
    for key, what, group in (("lock_sha256", "lock", Group.LOCK), ("unit_template_sha256", "unit", Group.UNIT)):
        if before.get(key) != after[key]:
            yield Change(what, str(before.get(key))[:12], str(after[key])[:12], group)


def package_changes(before: Mapping[str, tuple[str, str]], after: Mapping[str, Sequence[str]]) -> Iterator[Change]:
    """Between two lists of packages, each with its version and a digest of its files' hashes."""
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old is None or new is None or old[0] != new[0]:
            yield Change(f"package {name}", old[0] if old else None, new[0] if new else None, Group.PACKAGES)
        elif old[1] != new[1]:
            yield Change(f"package {name}", f"{old[0]} ({old[1]})", f"{new[0]} ({new[1]})", Group.PACKAGES)


def _mapping_changes(group: Group, what: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    for key in sorted(before.keys() | after.keys()):
        if before.get(key) != after.get(key):
            yield Change(f"{what} {key}", before.get(key), after.get(key), group)


def _patches(listed: object) -> dict[str, str]:
    """`[{"name": "a.diff", "sha256": "..."}]` into `{"a.diff": "<12 digits>"}`; a manifest of another shape has none."""
    named = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return _short({str(one.get("name")): str(one.get("sha256")) for one in named})


def _short(digests: dict[str, str]) -> dict[str, str]:
    return {name: digest[:12] for name, digest in digests.items()}
