"""Clean folders and catalog for every test, and PyBullet without a window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet_sim.models import KNOWN_MODELS, get_search_paths, remove_search_path


@pytest.fixture(autouse=True)
def _as_it_was(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    # Machine code is kept there, too: kinematics, in a folder below, would compile it in each test.
    if request.path.parent == Path(__file__).parent:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    known = dict(KNOWN_MODELS)
    yield
    KNOWN_MODELS.clear()
    KNOWN_MODELS.update(known)
    for folder in get_search_paths():
        remove_search_path(folder)


@pytest.fixture(scope="session")
def client() -> Iterator[int]:
    # Here, so that only the tests that ask for it are skipped where it is not installed.
    import pybullet

    number = pybullet.connect(pybullet.DIRECT)
    yield number
    pybullet.disconnect(number)
