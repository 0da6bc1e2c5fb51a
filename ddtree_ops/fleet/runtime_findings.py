"""Findings between the spec and the runtime that will be installed: widths, arguments, models, memory. Nothing is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from ddtree_ops.fleet.argument_findings import argument_findings
from ddtree_ops.fleet.finding import Finding, Severity
from ddtree_ops.fleet.launch_words import LaunchWords, words_of
from ddtree_ops.fleet.memory_findings import memory_findings
from ddtree_ops.fleet.model_findings import draft_findings, model_findings, page_findings
from ddtree_ops.fleet.model_on_host import ModelOnHost
from ddtree_ops.fleet.release import Release
from ddtree_ops.fleet.wheel_entry_points import EntryPoints, entry_points
from ddtree_ops.fleet.width_findings import AskReach, width_findings
from ddtree_ops.runtime.memory import Model, ModelShape, shape_of
from ddtree_ops.runtime.source.model import SourceFile, SourceTree
from ddtree_ops.runtime.widths import Widths, resolve
from ddtree_ops.units.eta import Boot


def runtime_findings(
    release: Release,
    source: SourceTree | None,
    model: ModelOnHost | None,
    draft: ModelOnHost | None,
    boots: Sequence[Boot] = (),
    gpu_mib: int | None = None,
    ask: AskReach | None = None,
) -> tuple[Finding, ...]:
    """Everything that spec, source, models and earlier boots tell together. What isn't known is a note.

    `source`: the release's packages, SGLang among them or not; None: none could be read. `gpu_mib`: memory of the smallest GPU;
    None: as its profile says. `ask`: tells how far a lost budget comes (`width_findings`).
    """
    words = words_of(release)
    target_shape, draft_shape = _shape(model), _shape(draft)
    return (
        *width_findings(release, _widths(release, source), ask),
        *(argument_findings(release, source) if source is not None else ()),
        *page_findings(release, words),
        *_models(release, words, target_shape, draft_shape),
        *memory_findings(release, words, _sized(model, target_shape), _sized(draft, draft_shape), boots, gpu_mib),
    )


def _widths(release: Release, source: SourceTree | None) -> Widths | None:
    if source is None or release.spec.ddtree is None:
        return None
    chosen = release.server["environment"].get("SGLANG_PLUGINS")
    return _resolved((*source.files, *(entry_points(release) if chosen else ())), chosen)


@lru_cache(4)
def _resolved(files: tuple[SourceFile | EntryPoints, ...], chosen: str | None) -> Widths:
    """A deploy looks twice, a rollout at many hosts: the same tree, by its files' stamps, is read once."""
    return resolve(files, plugins=chosen)


def _models(release: Release, words: LaunchWords, target: ModelShape | None, draft: ModelShape | None) -> Iterator[Finding]:
    if target is not None:
        yield from model_findings(release, words, target)
    if draft is not None and release.spec.draft_model is not None:
        yield from draft_findings(release, words, draft, target)
    lacking = [path for path, shape in zip(release.model_paths(), (target, draft), strict=False) if shape is None]
    if lacking:
        text = f"what fits the models isn't known: config.json of {', '.join(lacking)} wasn't seen"
        yield Finding(
            "model_config_unknown", Severity.NOTE, text, "put the models there; their config.json is read from the host"
        )


def _shape(model: ModelOnHost | None) -> ModelShape | None:
    return shape_of(model.config) if model is not None and model.config is not None else None


def _sized(model: ModelOnHost | None, shape: ModelShape | None) -> Model | None:
    return Model(shape, model.size) if model is not None and shape is not None and model.size else None
