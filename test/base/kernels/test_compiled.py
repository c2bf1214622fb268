"""Kernels: what is compiled gives what Python gives, and says what it needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fresh_python import words_of

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import MissingDependencyError
from fleet_sim.base.kernels import compiled


@compiled
def double(value: float) -> float:
    """Return twice the value."""
    return 2.0 * value


@compiled
def total(values: Floats) -> float:
    """Return twice the sum, with another kernel."""
    found = 0.0
    for value in values:
        found += double(value)
    return found


def test_a_kernel_gives_what_its_function_gives() -> None:
    values = np.arange(5.0)
    assert total(values) == total.function(values) == 20.0
    assert total.__doc__ == "Return twice the sum, with another kernel."


FILES = {
    "lower.py": "FACTOR = 2\n@compiled\ndef lower(value):\n    return FACTOR * value\n",
    "upper.py": "from lower import lower\n@compiled\ndef upper(value):\n    return lower(value) + 1\n",
}


@pytest.mark.slow
def test_a_change_in_another_file_is_seen_in_spite_of_the_cache(tmp_path: Path) -> None:
    # Numba alone looks at the file of the outermost function only.
    for factor in (2, 5):
        for name, code in FILES.items():
            text = "from fleet_sim.base.kernels import compiled\n" + code.replace("FACTOR = 2", f"FACTOR = {factor}")
            if not (tmp_path / name).is_file() or (tmp_path / name).read_text() != text:
                (tmp_path / name).write_text(text)
        code = "from upper import upper; print(upper(10))"
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
            )
            assert done.stdout.strip() == str(10 * factor + 1)


def test_without_numba_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'fleet_sim\[fast\]'"):
        compiled(lambda value: value)(1.0)


def test_a_numba_that_refuses_this_numpy_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "numba.py").write_text("raise ImportError('Numba needs NumPy 2.0 or less')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    with pytest.raises(MissingDependencyError, match=r"Numba needs NumPy 2\.0 or less"):
        compiled(lambda value: value)(1.0)


def test_numba_is_loaded_by_the_first_call_only() -> None:
    code = (
        "import sys, fleet_sim, fleet_sim.warehouse.traffic as t; from "
        "fleet_sim.warehouse.traffic import Network, PLANNERS;"
        "PLANNERS.names(); print('numba' in sys.modules)"
    )
    assert words_of(code) == ["False"]


@pytest.mark.slow
def test_a_constant_of_another_file_that_changes_makes_new_machine_code(tmp_path) -> None:
    # In processes of their own, as a program is changed between two runs.
    (tmp_path / "shapes.py").write_text("from typing import NamedTuple\nimport numpy as np\nFACTOR = 2\n")
    (tmp_path / "loops.py").write_text(
        "from fleet_sim.base.kernels import compiled\nfrom shapes import FACTOR\n"
        "@compiled\ndef times(number: int) -> int:\n    return number * FACTOR\n"
    )
    code = "from loops import times; print(times(5))"
    run = lambda: subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)  # noqa: E731
    assert run().stdout.split() == ["10"]
    (tmp_path / "shapes.py").write_text("FACTOR = 30000\n")
    assert run().stdout.split() == ["150000"]


@pytest.mark.slow
def test_machine_code_kept_for_classes_that_are_gone_is_made_anew(tmp_path: Path) -> None:
    source = (
        "from typing import NamedTuple\nimport numpy as np\nfrom fleet_sim.base.kernels import compiled\n"
        "class Old(NamedTuple):\n    values: np.ndarray\n"
        "@compiled\ndef total(pair):\n    return pair.values.sum()\n"
        "print(total(Old(np.arange(4.0))))\n"
    )
    for name in ("Old", "New"):
        (tmp_path / "update.py").write_text(source.replace("Old", name))
        command = [sys.executable, "-c", "import update"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "6.0\n"), done.stderr


@pytest.mark.slow
def test_a_word_in_a_docstring_or_another_folder_or_file_compiles_nothing(tmp_path: Path) -> None:
    source = (
        "from fleet_sim.base.kernels import compiled\nfrom fleet_sim.base.kernels import compile_seconds\n"
        "FACTOR = {factor}\n# {words}\n@compiled\ndef times(number):\n    '''{words}'''\n    return number * FACTOR\n"
        "print(times(5), compile_seconds() > 0.0)\n"
    )
    seen = []
    runs = (("a/loops", "Multiply.", 7), ("b/rings", "Multiply a number.", 7), ("a/loops", "Multiply.", 8))
    for name, words, factor in runs:
        file = tmp_path / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(source.format(words=words, factor=factor))
        # Imported, as a kernel of the program itself is of no module that can be gone.
        done = subprocess.run(
            [sys.executable, "-c", f"import {file.stem}"],
            cwd=file.parent,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        seen.append(done.stdout.split())
    assert seen == [["35", "True"], ["35", "False"], ["40", "True"]]
