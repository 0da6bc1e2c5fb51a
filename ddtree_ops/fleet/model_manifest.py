"""Which files a model consists of, with their sha256: where that is known from, and what the host is given to check by."""

from __future__ import annotations

import base64
import runpy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ddtree_ops import assets
from ddtree_ops.errors import InvalidInventory
from ddtree_ops.fleet.patches import controller_path
from ddtree_ops.fleet.regular_file import read_regular_text
from ddtree_ops.fleet.sections import BLOBS, MODEL

if TYPE_CHECKING:
    from ddtree_ops.fleet.spec import ModelSpec, ServingSpec

MOST_BYTES = 16 * 2**20


@dataclass(frozen=True)
class ModelManifest:
    """A model's directory on the host, and its list: a text from here, or a file beside the weights, or the blobs' names."""

    model: str
    text: str | None = None
    file: str | None = None
    blobs: bool = False

    def for_host(self) -> dict[str, Any]:
        """As the program of role model takes it; base64, since Ansible would evaluate braces in a text."""
        content = None if self.text is None else base64.b64encode(self.text.encode()).decode("ascii")
        return {"model": self.model, "content": content, "file": self.file, "blobs": self.blobs}


def read_manifests(spec: ServingSpec, folder: Path) -> tuple[ModelManifest, ...]:
    """The manifests that the spec names; relative paths count from the inventory's directory. Raises InvalidInventory."""
    models = {"model": spec.model, "draft_model": spec.draft_model}
    return tuple(_read(key, model, folder) for key, model in models.items() if model is not None and model.manifest is not None)


def _read(key: str, model: ModelSpec, folder: Path) -> ModelManifest:
    manifest = str(model.manifest)
    if manifest == BLOBS:
        return ModelManifest(model.path, blobs=True)
    if manifest.startswith(MODEL):
        return ModelManifest(model.path, file=manifest[len(MODEL) :])
    path = controller_path(manifest, folder)
    text = read_regular_text(path, MOST_BYTES, key=f"{key}.manifest")
    if problem := _unusable(text):
        raise InvalidInventory(f"{key}.manifest: {path}: {problem}", hint="make it with sha256sum in the model's directory")
    return ModelManifest(model.path, text=text)


def _unusable(text: str) -> str | None:
    """What the host would say of a list, by the host's own code."""
    program = runpy.run_path(str(assets.role_file("model", "model_list.py")))
    problem: Callable[[str], str | None] = program["problem"]
    return problem(text)
