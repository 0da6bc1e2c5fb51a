"""The whole look at a host: releases, files, units, processes, lock, dead-man, and the findings of the roles' programs."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from . import children, files, pins, releases, standing, units

SCHEMA = "ddtree-ops/look/v1"


def main(wanted: str, programs: dict[str, str]) -> None:
    """Print the answer as one JSON document.

    `wanted` is JSON: root, state (directories), units (the command that shows them; empty: don't), release (its id) or null,
    and programs {name: arguments}; `programs` are their texts. They run beside the rest.
    """
    want = json.loads(wanted)
    begun = time.monotonic()
    started = {name: children.start(programs[name], arguments) for name, arguments in want["programs"].items()}
    answer = look(want)
    answer["programs"] = {name: children.finish(child) for name, child in started.items()}
    answer["seconds"] = round(time.monotonic() - begun, 4)
    # Half a surrogate pair, as in a name that isn't UTF-8, is no JSON to others.
    sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace"))
    sys.stdout.flush()


def look(want: dict[str, Any]) -> dict[str, Any]:
    """All but the programs' findings."""
    links, manifests = releases.links(want["root"]), releases.manifests(want["root"])
    port = releases.port(manifests.get(links.get("current", "")))
    own = [f"ddtree-server@{port}.service"] if port else []
    asked = units.ask([*want["units"], *own]) if want["units"] else None
    answer: dict[str, Any] = {
        "schema": SCHEMA,
        "links": links,
        "not_links": releases.not_links(want["root"]),
        "no_state": not os.path.isdir(want["state"]),
        "releases": manifests,
        "leftovers": releases.leftovers(want["root"]),
        "lock": standing.lock(want["state"]),
        "dead_man": standing.dead_man(want["state"]),
        "boots": standing.boots(want["state"], want["port"]) if want.get("port") else [],
        "settings": releases.settings(want["root"], want["release"]) if want["release"] else None,
    }
    answer.update(units.answers(asked) if asked else {"units": [], "units_problem": None})
    if want["release"] and links.get("current"):
        answer.update(_for_comparison(want, links["current"], answer["units"]))
    used = {want["release"], links.get("current"), *(unit["release"] for unit in answer["units"])}
    checked = answer["releases"].keys() if want["every_release"] else used & answer["releases"].keys()
    answer["files"] = {name: files.check(want["root"], name) for name in sorted(checked)}
    return answer


def _for_comparison(want: dict[str, Any], current: str, seen: list[dict[str, Any]]) -> dict[str, Any]:
    """What people compare: the current release's packages and unit text if it isn't the one wanted, and an edited unit file."""
    own = units.text_of(f"{want['root']}/releases/{current}/{units.TEMPLATE}")
    installed = next((text for text in map(units.installed, seen) if text not in (None, own)), None)
    other = current != want["release"]
    return {
        "pins": pins.of_release(want["root"], current) if other else None,
        "unit_texts": {"release": own if other or installed else None, "installed": installed},
    }
