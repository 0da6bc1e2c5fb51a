"""Templates, compiled once; every value is escaped."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ddtree_ops import __version__
from ddtree_ops.exporter.page.icon import SHAPES, icon
from ddtree_ops.exporter.sight.model import State
from ddtree_ops.exporter.sight.words import ago

if TYPE_CHECKING:
    from jinja2 import Environment, Template
    from markupsafe import Markup

_TIME = re.compile(r'<time data-t="(\d{1,15})"></time>', re.ASCII)
PACKAGE = "ddtree_ops.exporter"
FOLDER = "html"


@cache
def environment() -> Environment:
    """jinja2 is imported with the first page: it costs some megabytes, and many exporters never show one."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    found = Environment(
        loader=PackageLoader(PACKAGE, FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    found.globals |= {
        "version": version(),
        "release": __version__,
        "shapes": [(str(state), trusted(shape)) for state, shape in SHAPES.items()],
    }
    return found


@cache
def template(name: str) -> Template:
    return environment().get_template(name)


@cache
def prepare() -> None:
    """Compile the fleet's templates before anyone asks: that takes longer than all rows of a hundred hosts."""
    for name in ("fleet.html.j2", "row.html.j2", "summary.html.j2", "base.html.j2"):
        template(name)


def trusted(html: str) -> Markup:
    """What a template of ours made is not escaped again."""
    from markupsafe import Markup  # noqa: PLC0415  comes with jinja2

    return Markup(html)  # noqa: S704


def document(name: str, now: float, counts: Sequence[tuple[State, int]], **parts: Any) -> str:
    """A whole page at `now`, Unix seconds."""
    return timed(template(name).render(now=now, clock=clock(now), icon=icon(counts), **parts), now)


def text_file(name: str) -> str:
    return (resources.files(PACKAGE) / FOLDER / name).read_text("utf-8")


@cache
def version() -> str:
    """Of templates, style and script: another one makes open pages load themselves anew."""
    folder = resources.files(PACKAGE) / FOLDER
    digest = hashlib.sha256()
    for file in sorted(folder.iterdir(), key=lambda one: one.name):
        if file.is_file():
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def clock(now: float) -> str:
    """UTC, since readers of one page are in several places."""
    return time.strftime("%H:%M:%S UTC", time.gmtime(now))


def address(path: str, parameters: Mapping[str, Any]) -> str:
    """A link of ours with the parameters that say anything."""
    told = [f"{name}={quote(str(value), safe='')}" for name, value in parameters.items() if value]
    return path + ("?" + "&".join(told) if told else "")


def timed(html: str, now: float) -> str:
    """The page with its times in words; while it is open, status.js counts on. So a row doesn't change as it gets older."""
    return _TIME.sub(lambda found: f'<time data-t="{found[1]}">{ago(int(found[1]), now)}</time>', html)
