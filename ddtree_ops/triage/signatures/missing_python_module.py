"""A Python package isn't installed, or not in a version that has what is asked of it."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

_NO_MODULE = re.compile(r"^No module named ['\"]?(?P<name>[\w.-]{1,200})")
_NO_NAME = re.compile(r"^cannot import name '(?P<what>\w{1,100})' from '(?P<name>[\w.]{1,200})'")
# transformers, dynamic_module_utils.py and utils/import_utils.py; SGLang, utils/common.py (assert_pkg_version)
_REQUIRES = re.compile(
    r"requires the following packages that were not found in your environment: (?P<names>[^\n]{1,200}?)\. Run"
    r"|Missing requirements in your local environment for [^\n]{1,300}\n(?P<failed>[^\n]{1,200})"
)
_TOO_OLD = re.compile(
    r"(?P<name>[\w.-]{1,60}) is installed with version (?P<has>\S{1,40}), which is less than the minimum required version "
    r"(?P<needs>\S{1,40})"
)
# transformers, utils/versions.py: what is there isn't what is asked for
_OTHER_VERSION = re.compile(
    r"^(?P<name>[A-Za-z][\w.-]{0,60})(?P<needs>[<>=!~]=?[\w.,<>=!~*+-]{1,80}) is required[^\n]{0,200}?, but found "
    r"(?:[\w.-]{1,60}==)?(?P<has>\w[\w.+-]{0,40}?)\.?(?:\s|$)"
)
# "is required" alone may be said of anything: a GPU, a token, an argument
_INSTALL = re.compile(
    r"(?:[Pp]lease install|[Ii]nstall it with)[^\n]{0,60}?pip install ['\"]?(?P<name>[\w.\[\],<>=-]{1,80})|"
    r"(?P<pkg>(?<![\w.<>=-])[a-z][\w.-]{1,60})[`'\"]? (?:package is (?:required|not installed)|is not installed)"
)
#: Said by sgl_kernel after each of its tries; what the tries before it met is the reason.
_LAST_RESORT = "common_ops"


def match(context: Context) -> Finding | None:
    """An import failed; what the shared libraries say is told by other kinds."""
    for item in context.block.exceptions:
        if item.type not in ("ModuleNotFoundError", "ImportError"):
            continue
        found = _NO_MODULE.search(item.message)
        if found and found["name"].strip(".").count("."):
            return _no_submodule(found["name"])
        if found and found["name"] != _LAST_RESORT:
            return _absent(found["name"])
        found = _NO_NAME.search(item.message)
        if found:
            cause = (
                f"The installed {found['name'].split('.')[0]} has no {found['what']} in {found['name']}: it is of another"
                " version than its user expects."
            )
            return _finding(f"{found['name']} has no {found['what']}", cause, Confidence.LIKELY)
        found = _REQUIRES.search(item.message)
        if found:
            return _absent((found["names"] or found["failed"]).strip())
        found = _OTHER_VERSION.search(item.message[:1000])
        if found:
            return _other_version(found)
        found = _INSTALL.search(item.message[:1000])
        if found:
            return _absent(found["name"] or found["pkg"], Confidence.CERTAIN if found["name"] else Confidence.LIKELY)
    old = context.near("is installed with version", _TOO_OLD)
    if old:
        name, has, needs = (old[1][key] for key in ("name", "has", "needs"))
        return _finding(
            f"{name} is too old", f"{name} is installed as {has}, but at least {needs} is needed.", Confidence.CERTAIN
        )
    return None


def _no_submodule(name: str) -> Finding:
    """The interpreter names the first part that isn't there, so the package that it would be in is installed."""
    package = name.split(".", 1)[0]
    return _finding(
        f"{package} has no module {name}",
        f"{package} is installed, but has no {name}: it is of another version than its user expects.",
        Confidence.LIKELY,
    )


def _other_version(found: re.Match[str]) -> Finding:
    name, needs, has = found["name"], found["needs"], found["has"]
    return _finding(
        f"{name} isn't of the version that is needed", f"{name} is installed as {has}, but {needs} is needed.", Confidence.CERTAIN
    )


def _absent(name: str, confidence: Confidence = Confidence.CERTAIN) -> Finding:
    return _finding(
        f"Python package {name} is missing",
        f"{name} isn't installed in the environment that runs the server.",
        confidence,
    )


def _finding(title: str, cause: str, confidence: Confidence) -> Finding:
    fixes = ("Deploy the release from its lock; what a model's own code needs on top belongs into the lock too.",)
    return Finding(Kind.MISSING_PYTHON_MODULE, title, cause, fixes, confidence)


SIGNATURE = Signature(match)
