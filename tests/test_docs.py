"""Documents that are generated, or that name things in the code, must not drift from it."""

from __future__ import annotations

import re
from pathlib import Path
from runpy import run_path

from ddtree_ops.fleet import finding_ids
from ddtree_ops.fleet.monitoring import settings_reference
from ddtree_ops.fleet.reference import spec_reference

PROJECT = Path(__file__).resolve().parents[1]
TEXTS = [PROJECT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")]


def test_the_reference_of_the_spec_is_the_models_own() -> None:
    text = (PROJECT / "docs" / "serving-spec.md").read_text()
    assert spec_reference() in text, "run `make docs`"
    assert settings_reference() in text, "run `make docs`"


def test_the_page_of_findings_is_the_checks_own() -> None:
    page = run_path(str(PROJECT / "docs" / "write_findings.py"))["page"]()
    assert page == (PROJECT / "docs" / "findings.md").read_text(), "run `make docs`"


def test_the_page_of_findings_has_every_one() -> None:
    page = (PROJECT / "docs" / "findings.md").read_text()
    assert [name for name in sorted(finding_ids.KNOWN) if f"`{name}`" not in page] == []


def test_links_and_paths_in_the_documents_exist() -> None:
    missing = []
    for path in TEXTS:
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
            if not (PROJECT / target).exists():
                missing.append(f"{path.name}: {target}")
        for target in re.findall(
            r"(?<![\w/])((?:ddtree_ops|roles|deploy|lab|tests|inventories)/[\w./-]*[\w/])", path.read_text()
        ):
            if not (PROJECT / target).exists():
                missing.append(f"{path.name}: {target}")
    assert not missing


def test_nothing_is_left_to_fill_in() -> None:
    assert not [path.name for path in TEXTS if "@@" in path.read_text()]


def test_every_make_target_in_the_documents_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
    for path in TEXTS:
        named = set(re.findall(r"`?make ([a-z-]+)", path.read_text()))
        assert named <= targets, f"{path.name} names {named - targets}"
