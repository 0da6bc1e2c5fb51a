"""One Prometheus with the whole scenario for all tests of a worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.monitoring.data.store import Store, filled_store


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A running Prometheus; see data/scenario.py for what is in it."""
    with filled_store(tmp_path_factory.mktemp("prometheus")) as running:
        yield running
