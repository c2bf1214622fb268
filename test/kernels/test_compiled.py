"""Kernels: what is compiled gives what Python gives, and says what it needs."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from fleet_sim.errors import InvalidValueError, MissingDependencyError
from fleet_sim.kernels import compiled
from fleet_sim.traffic.tables import spread


@compiled
def double(value: float) -> float:
    """Return twice the value."""
    return 2.0 * value


@compiled
def total(values: np.ndarray) -> float:
    """Return twice the sum, with another kernel."""
    found = 0.0
    for value in values:
        found += double(value)
    return found


@compiled
def borrows(value: float) -> float:
    """Call a kernel of another file."""
    return spread(value)  # type: ignore[call-arg, arg-type]


def test_a_kernel_gives_what_its_function_gives() -> None:
    values = np.arange(5.0)
    assert total(values) == total.function(values) == 20.0
    assert total.__doc__ == "Return twice the sum, with another kernel."


def test_a_kernel_of_another_file_is_refused() -> None:
    # Numba would not notice when that file changes.
    with pytest.raises(InvalidValueError, match="another file"):
        borrows(1.0)


def test_without_numba_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'fleet_sim\[traffic\]'"):
        compiled(lambda value: value)(1.0)


def test_a_numba_that_refuses_this_numpy_is_quoted(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "numba.py").write_text("raise ImportError('Numba needs NumPy 2.0 or less')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    with pytest.raises(MissingDependencyError, match=r"Numba needs NumPy 2\.0 or less"):
        compiled(lambda value: value)(1.0)


def test_numba_is_loaded_by_the_first_call_only() -> None:
    code = (
        "import sys, fleet_sim, fleet_sim.traffic as t; from fleet_sim.traffic import Network, PLANNERS;"
        "PLANNERS.names(); print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
