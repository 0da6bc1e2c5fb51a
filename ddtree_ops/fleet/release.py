"""A release: everything that makes up one runtime on a host, named by its own content.

The same spec, lock, wheels and unit text give the same id, so that deploying what is already there is a no-op, and a
changed argument is a new release that the old one stays beside.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ddtree_ops import assets
from ddtree_ops.errors import InvalidInventory
from ddtree_ops.fleet.hardware import HardwareProfile
from ddtree_ops.fleet.model_manifest import ModelManifest
from ddtree_ops.fleet.patches import Patch
from ddtree_ops.fleet.regular_file import open_regular
from ddtree_ops.fleet.spec import SecretRef, ServingSpec
from ddtree_ops.on_host.pins import pins

SERVER_SCHEMA = "ddtree-ops/server/v1"
RELEASE_SCHEMA = "ddtree-ops/release/v1"
PROBE = {"prompt": "The capital of France is", "max_new_tokens": 8, "timeout_s": 60}
# How SGLang takes each secret: as an argument (inside the process, never on a command line) or from its environment.
CREDENTIALS: Mapping[str, Mapping[str, str]] = {
    "api_key": {"argument": "--api-key"},
    "admin_api_key": {"argument": "--admin-api-key"},
    "hf_token": {"environment": "HF_TOKEN"},
}

# What preflight asks about: packages of the lock, and variables that say where programs and caches are.
_PACKAGES = frozenset(
    {"sglang", "sglang-kernel", "torch", "triton", "transformers", "nvidia-cuda-runtime", "nvidia-nccl-cu12", "nvidia-nccl-cu13"}
)
_VARIABLES = ("PATH", "CUDA_HOME", "TRITON_PTXAS_PATH", "HF_HOME", "HF_MODULES_CACHE")


@dataclass(frozen=True)
class LocalWheel:
    """A wheel on the controller that is sent to the host: the plugin, and what the spec adds (in a lab the simulator)."""

    path: str
    sha256: str

    @property
    def name(self) -> str:
        return Path(self.path).name


@dataclass(frozen=True)
class ReleaseInputs:
    """What a release is made of besides the spec: file contents read on the controller."""

    lock_name: str
    lock_text: str
    unit_template: str
    wheels: tuple[LocalWheel, ...]
    patches: tuple[Patch, ...] = ()
    model_manifests: tuple[ModelManifest, ...] = ()


@dataclass(frozen=True)
class Release:
    """`server` is server.json without its release id; `id` is `<lock>-<10 hex digits of the content>`."""

    id: str
    spec: ServingSpec
    hardware: HardwareProfile
    server: Mapping[str, Any]
    inputs: ReleaseInputs

    def server_json(self) -> dict[str, Any]:
        """server.json as the launcher reads it."""
        return {**self.server, "release": self.id}

    def manifest_seed(self) -> dict[str, Any]:
        """What the controller knows of manifest.json; the host adds Python version, packages and RECORD hashes."""
        return {
            "schema": RELEASE_SCHEMA,
            "id": self.id,
            "lock": self.inputs.lock_name,
            "lock_sha256": sha256(self.inputs.lock_text),
            "wheels": {wheel.name: wheel.sha256 for wheel in self.inputs.wheels},
            "patches": [{"name": patch.name, "sha256": patch.sha256} for patch in self.inputs.patches],
            "unit_template_sha256": sha256(self.inputs.unit_template),
            "argv": list(self.server["argv"]),
            "environment": dict(self.server["environment"]),
        }

    def wanted_gpus(self) -> dict[str, Any]:
        """What nvidia-smi has to show, as the preflight program takes it; memory in MiB."""
        gpu = self.hardware
        return {
            "count": gpu.gpu_count,
            "names": list(gpu.gpu_names),
            "memory_mib": gpu.memory_mib,
            "compute_cap": gpu.compute_cap,
            "siblings": list(gpu.sibling_names),
            "interconnect": str(gpu.interconnect),
            "driver_floor": gpu.driver_floor,
        }

    def wanted_stack(self) -> dict[str, Any]:
        """What the server is made of and needs of the host, as the preflight program takes it."""
        pinned = pins(self.inputs.lock_text)
        return {
            "packages": {name: pinned[name][0].split(" or ")[0] for name in sorted(_PACKAGES & pinned.keys())},
            "environment": {name: value for name, value in self.server["environment"].items() if name in _VARIABLES},
            "models": list(self.model_paths()),
            "model_bytes": self.spec.model.bytes,
            "remote_code": "--trust-remote-code" in self.server["argv"],
            "lock_sha256": sha256(self.inputs.lock_text),
        }

    def model_paths(self) -> tuple[str, ...]:
        """The directories of the target and the draft on the host."""
        draft = self.spec.draft_model
        return (self.spec.model.path, draft.path) if draft else (self.spec.model.path,)

    def role_variables(self) -> dict[str, Any]:
        """Extra vars of the playbooks. Secrets are Jinja look-ups that Ansible resolves: no value passes through."""
        runtime = self.spec.runtime
        return {
            "release_id": self.id,
            "release_server": self.server_json(),
            "release_lock": self.inputs.lock_text,
            "release_wheels": [{"path": wheel.path, "sha256": wheel.sha256} for wheel in self.inputs.wheels],
            "release_source": str(runtime.source),
            "release_wheelhouse": assets.expand(runtime.wheelhouse or ""),
            "release_python": str(runtime.python),
            "release_patches": [patch.for_role() for patch in self.inputs.patches],
            "release_manifest": self.manifest_seed(),
            "release_credentials": [{"name": name, "value": lookup(ref)} for name, ref in sorted(self.spec.secrets.items())],
            "preflight_gpus": self.wanted_gpus(),
            "preflight_stack": self.wanted_stack(),
            "preflight_free_mib": runtime.free_mib,
            "model_paths": list(self.model_paths()),
            "model_manifests": [manifest.for_host() for manifest in self.inputs.model_manifests],
            "service_port": self.spec.port,
            "service_drain_s": int(self.spec.drain),
            "service_load_budget_s": int(self.spec.load_budget),
        }


def build(spec: ServingSpec, hardware: HardwareProfile, inputs: ReleaseInputs) -> Release:
    """The release that a spec asks for on a kind of host."""
    server: dict[str, Any] = {
        "schema": SERVER_SCHEMA,
        "port": spec.port,
        "listen": spec.listen,
        "argv": list(spec.server_argv(hardware)),
        "environment": dict(spec.environment_for(hardware)),
        "credentials": {name: dict(CREDENTIALS[name]) for name in sorted(spec.secrets)},
        "model_bytes": spec.model.bytes,
        "probe": dict(PROBE),
        "stall_after_s": int(spec.stall_after),
        "load_budget_s": int(spec.load_budget),
        "drain_s": int(spec.drain),
    }
    content: dict[str, Any] = {
        "server": server,
        "lock": sha256(inputs.lock_text),
        "unit": sha256(inputs.unit_template),
        "wheels": sorted((wheel.name, wheel.sha256) for wheel in inputs.wheels),
        "python": str(spec.runtime.python),
    }
    if inputs.patches:
        content["patches"] = [patch.sha256 for patch in inputs.patches]
    digest = sha256(json.dumps(content, sort_keys=True, separators=(",", ":")))
    return Release(f"{inputs.lock_name}-{digest[:10]}", spec, hardware, server, inputs)


def lookup(ref: SecretRef) -> str:
    """Jinja by which Ansible finds a secret on the controller at run time."""
    if ref.env is not None:
        return "{{ lookup('ansible.builtin.env', '" + ref.env + "') }}"
    if ref.file is not None:
        return "{{ lookup('ansible.builtin.file', '" + assets.expand(ref.file) + "') }}"
    return "{{ " + str(ref.vault) + " }}"


def sha256(text: str) -> str:
    """Hex digest of a text as UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def read_wheel(path: Path) -> LocalWheel:
    """A wheel file with its digest. Raises InvalidInventory for what is no wheel."""
    with open_regular(path, key="runtime.wheels", hint="build it again: make wheels") as stream:
        if not zipfile.is_zipfile(stream):
            raise InvalidInventory(f"runtime.wheels: {path} is no wheel", hint="build it again: make wheels")
        stream.seek(0)
        return LocalWheel(str(path), hashlib.file_digest(stream, "sha256").hexdigest())


def one_wheel(pattern: str) -> Path:
    """The newest file that matches a path or glob. Raises InvalidInventory if there is none."""
    path = Path(pattern)
    try:
        if "**" in path.name:  # it would search all that lies below
            raise ValueError("'**' isn't for the last part of a wheel's path")
        found = sorted(path.parent.glob(path.name), key=lambda item: item.stat().st_mtime)
    except (OSError, ValueError) as error:
        raise InvalidInventory(f"runtime.wheels: {pattern!r}: {error}", hint="name one wheel, or a glob for its name") from error
    if not found:
        raise InvalidInventory(f"no wheel at {pattern}", hint="build it: make wheels")
    return found[-1]
