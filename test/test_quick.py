"""`make quick` runs what a change touches, the nearest first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


@pytest.fixture
def touched(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """The files of tests that changes of files touch."""
    monkeypatch.syspath_prepend(str(TESTS))
    from quick import touched_tests

    return lambda *files: touched_tests(list(files))


def test_oracles_of_a_part_come_first_then_its_folder_then_who_imports_it(touched: Callable[..., list[str]]) -> None:
    files = touched("src/fleet_sim/robots/motion/path.py")
    folders, part = [Path(file).parent.as_posix() for file in files], "test/robots/motion"
    own = folders.index(part)
    assert own > 3 and set(folders[:own]) == {"test/oracles"}
    after = own + folders.count(part)
    assert set(folders[own:after]) == {part}
    assert "test/test_determinism.py" in files[after:], "by the names that fleet_sim passes on"
    assert "test/base/settings/test_files.py" not in files


def test_what_changed_is_run_itself_and_other_files_touch_who_names_them(touched: Callable[..., list[str]]) -> None:
    assert touched("test/test_registry.py", "src/fleet_sim/errors.py")[0] == "test/test_registry.py"
    assert "test/system/test_process.py" in touched("test/support/node_program.py")
    assert {"test/test_docs.py", "test/test_own_code.py"} <= set(touched("docs/own_code.md"))
