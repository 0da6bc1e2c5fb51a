"""PCI addresses as NVML, nvidia-smi and the kernel write them."""

from __future__ import annotations

import pytest

from ddtree_ops.exporter.gpus.pci import PciAddress


@pytest.mark.parametrize(
    ("written", "linux"),
    [
        ("00000000:3B:00.0\n", "0000:3b:00.0"),
        ("0000:3b:00", "0000:3b:00.0"),
        ("3b:00.1", "0000:3b:00.1"),
        ("00010000:3B:1F.7", "10000:3b:1f.7"),  # a domain of more than four digits, as behind a VMD
        ("10000:3b:1f", "10000:3b:1f.0"),
        *((wrong, "") for wrong in ("", "N/A", "3b", "3b:00.8", "000:3b:00.0", "0000:3b:00.0.0", "0000:3b:00.0 x")),
    ],
)
def test_addresses(written: str, linux: str) -> None:
    address = PciAddress.parse(written)
    assert str(address or "") == linux
    assert address is None or address.slot == linux[:-2]
