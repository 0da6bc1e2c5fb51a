"""Faults of a GPU as programs see them: CUDA's and NVML's errors that only the hardware can cause."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Device
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature
from ddtree_ops.triage.signatures.gpu_xid import FIXES, TITLES

# cudaError 214, 220, 46 and 100 with NVML's 15; CUDA 12 and 13, nvml.h
_ERRORS: tuple[tuple[Kind, re.Pattern[str], str], ...] = (
    (
        Kind.GPU_ECC,
        re.compile(r"uncorrectable ECC error encountered|cudaErrorECCUncorrectable|CUDA_ERROR_ECC_UNCORRECTABLE"),
        "CUDA met a memory error that the GPU could not correct.",
    ),
    (
        Kind.NVLINK_FAULT,
        re.compile(r"uncorrectable NVLink error|cudaErrorNvlinkUncorrectable|CUDA_ERROR_NVLINK_UNCORRECTABLE"),
        "CUDA met an NVLink error that could not be corrected.",
    ),
    (
        Kind.GPU_LOST,
        re.compile(
            r"\bGPU is lost\b|NVMLError_GpuIsLost|NVML_ERROR_GPU_IS_LOST|GPU has fallen off the bus"
            r"|Unable to determine the device handle for (?:GPU|gpu)"
        ),
        "The driver no longer reaches the GPU.",
    ),
    (
        Kind.GPU_RESET_REQUIRED,
        re.compile(
            r"\b(?:GPU|[Dd]evice) requires (?:a )?reset\b|NVMLError_ResetRequired|NVML_ERROR_RESET_REQUIRED|GPU reset "
            r"(?:is )?required"
        ),
        "The driver refuses to work with the GPU until it is reset.",
    ),
)
_PCI = re.compile(r"GPU ?(?P<pci>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})\b")
_LINE = re.compile(r"Unable to determine the device handle for|GPU is lost\.|.{0,40}\bRequires (?:a )?reset")


def match(context: Context) -> Finding | None:
    """In an exception's message or type."""
    for exception in context.block.exceptions:
        finding = _read(f"{exception.type}: {exception.message[:4000]}")
        if finding:
            return finding
    return None


def match_line(text: str) -> Finding | None:
    """nvidia-smi's own words."""
    return _read(text[:1000]) if _LINE.match(text) else None


def _read(text: str) -> Finding | None:
    for kind, pattern, cause in _ERRORS:
        if pattern.search(text):
            named = _PCI.search(text)
            devices = (Device(pci=named["pci"], suspect=True),) if named else ()
            return Finding(kind, TITLES[kind], cause, FIXES[kind], Confidence.CERTAIN, devices=devices)
    return None


SIGNATURE = Signature(match, match_line, literals=("GPU is lost", "Unable to determine the device handle"))
