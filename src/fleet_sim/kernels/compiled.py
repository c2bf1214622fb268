"""The only importer of numba: `compiled` turns a function on arrays into a kernel."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any, Generic, ParamSpec, TypeVar

from fleet_sim.errors import InvalidValueError, MissingDependencyError, missing_extra

P = ParamSpec("P")
R = TypeVar("R")

PURPOSE = "traffic (planners and their execution)"


class Kernel(Generic[P, R]):
    """A function that is compiled at its first call, which loads numba; later processes load the machine code.

    The code is kept beside the source, or in the user's cache where that cannot be written. Results are those of the
    function in Python, except that indices are not checked: whoever calls a kernel has checked what goes in.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._machine_code: Callable[P, R] | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the kernel; raises MissingDependencyError naming the extra where numba is not installed."""
        code = self._machine_code
        return (self.machine_code() if code is None else code)(*args, **kwargs)

    def machine_code(self) -> Callable[P, R]:
        """Return what numba made of the function, without this object's cost per call."""
        if self._machine_code is None:
            self._machine_code = _compile(self._with_kernels())
        return self._machine_code

    def _with_kernels(self) -> FunctionType:
        """Return the function with the kernels that it calls in place of these objects, which numba does not know.

        Raises InvalidValueError for kernels of other files: numba would keep the old machine code when those change.
        """
        function = self.function
        assert isinstance(function, FunctionType)
        names = dict(function.__globals__)
        for name in function.__code__.co_names:
            callee = names.get(name)
            if isinstance(callee, Kernel):
                if callee.function.__code__.co_filename != function.__code__.co_filename:
                    raise InvalidValueError(
                        f"kernel {function.__name__!r} calls {name!r} of another file; move it here"
                    )
                names[name] = callee.machine_code()
        linked = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
        linked.__qualname__, linked.__module__ = function.__qualname__, function.__module__
        return linked


def compiled(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a kernel of a function on arrays and numbers; a decorator. It may call kernels of its own file."""
    return Kernel(function)


def _compile(function: FunctionType) -> Any:
    numba = _numba()
    try:
        return numba.njit(cache=True)(function)
    except RuntimeError:
        # No folder for the cache can be written: compiled anew in each process.
        return numba.njit(function)


def _numba() -> ModuleType:
    try:
        return import_module("numba")
    except ModuleNotFoundError as error:
        if error.name == "numba":
            raise missing_extra("numba", "traffic", PURPOSE) from error
        raise
    except ImportError as error:
        # Numba refuses versions of NumPy that it does not know yet, and says which it takes.
        raise MissingDependencyError(f"{PURPOSE} needs numba, which cannot be used here: {error}") from error
