"""The only importer of numba: `compiled` turns a function on arrays into a kernel."""

from __future__ import annotations

import functools
import hashlib
import logging
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from types import FunctionType, ModuleType
from typing import Any, Generic, ParamSpec, TypeVar

from fleet_sim.errors import MissingDependencyError, missing_extra

P = ParamSpec("P")
R = TypeVar("R")

PURPOSE = "compiled code (of traffic, and of large worlds)"
EXTRA = "fast"
log = logging.getLogger("fleet_sim.kernels")

_compile_times: list[float] = []


def compile_seconds() -> float:
    """Return how long this process has compiled kernels so far; loading kept machine code does not count."""
    return sum(_compile_times)


class Kernel(Generic[P, R]):
    """A function that is compiled at its first call, which loads numba; later processes load the machine code.

    The code is kept beside the source, or in the user's cache where that cannot be written. Results are those of the
    function in Python, except that divisions by zero give inf or nan, as in NumPy, and that indices are not checked:
    whoever calls a kernel has checked what goes in.
    """

    def __init__(self, function: Callable[P, R], options: dict[str, bool] | None = None) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._options = options or {}
        self._machine_code: Callable[P, R] | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the kernel; raises MissingDependencyError naming the extra where numba is not installed."""
        code = self._machine_code
        return self._first_call(*args, **kwargs) if code is None else code(*args, **kwargs)

    def _first_call(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Load the machine code, or make it, and say so: it takes seconds."""
        code: Any = self.machine_code()
        if _is_kept(code):
            return code(*args, **kwargs)
        name = f"{self._source().__module__.rpartition('.')[2]}.{self._source().__name__}"
        log.warning("compiling %s for this machine, once (`fleet-sim warm` does it ahead)", name)
        begin = perf_counter()
        result = code(*args, **kwargs)
        _compile_times.append(perf_counter() - begin)
        log.warning("compiled %s in %.1f s", name, _compile_times[-1])
        return result

    def machine_code(self) -> Callable[P, R]:
        """Return what numba made of the function, without this object's cost per call."""
        if self._machine_code is None:
            self._machine_code = _compile(self._with_kernels(), self._options)
        return self._machine_code

    def _with_kernels(self) -> FunctionType:
        """Return the function with the kernels that it calls in place of these objects, which numba does not know."""
        function = self._source()
        names = dict(function.__globals__)
        names.update({name: kernel.machine_code() for name, kernel in self._used(Kernel)})
        linked = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
        # Numba keeps machine code by this name until the function's own file changes. So that nothing old is used, all
        # else that it was made of is in the name.
        linked.__qualname__, linked.__module__ = f"{function.__qualname__}_{self.fingerprint}", function.__module__
        return linked

    @functools.cached_property
    def fingerprint(self) -> str:
        """What the constants and the kernels are that the function uses, those of other files included."""
        content = hashlib.sha256(f"{_digest(Path(__file__))} {sorted(self._options)}".encode())
        for name, kernel in self._used(Kernel):
            file = Path(kernel._source().__code__.co_filename)
            content.update(f"{name} {kernel.fingerprint} {_digest(file)}".encode())
        for name, value in self._used(bool | int | float | str | tuple):
            content.update(f"{name} {value!r}".encode())
        for name, value in sorted(self._source().__globals__.items()):
            # Annotations name the classes of arguments; machine code has the places of their fields built in.
            if hasattr(value, "_fields"):
                content.update(f"{name} {value._fields}".encode())
        return content.hexdigest()[:12]

    def _used(self, kind: Any) -> list[tuple[str, Any]]:
        """Return name and value of what the function uses of the globals of its file, of a kind."""
        function = self._source()
        used = [(name, function.__globals__.get(name)) for name in sorted(function.__code__.co_names)]
        return [(name, value) for name, value in used if isinstance(value, kind)]

    def _source(self) -> FunctionType:
        assert isinstance(self.function, FunctionType)
        return self.function

    @functools.cached_property
    def in_python(self) -> Callable[P, R]:
        """The function in Python, calling other kernels in Python too: to compare, and where there is no numba."""
        function = self._source()
        names = function.__globals__ | {name: kernel.in_python for name, kernel in self._used(Kernel)}
        return FunctionType(function.__code__, names, function.__name__, function.__defaults__)


@functools.cache
def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def compiled(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a kernel of a function on arrays and numbers; a decorator. It may call other kernels."""
    return Kernel(function)


def compiled_step(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a kernel for the step: it allocates nothing, and does not compile if it would.

    Without allocations there is no counting of references either. Counting those of fifty columns that are handed from
    function to function takes longer than moving a robot.
    """
    return Kernel(function, {"_nrt": False})


def inlined(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a piece of kernels for the step: its code becomes part of each one that calls it.

    For what gets tables of columns, which would be copied at each call.
    """
    return Kernel(function, {"_nrt": False, "forceinline": True})


def _compile(function: FunctionType, options: dict[str, bool]) -> Any:
    """Return the compiled function, kept on the disk for later processes where a folder can be written."""
    make = functools.partial(_numba().njit, error_model="numpy", **options)
    try:
        made = make(cache=True)(function)
        _discard_unreadable(made)
        return made
    except RuntimeError:
        # No folder for the cache can be written: compiled anew in each process.
        return make()(function)


def _discard_unreadable(made: Any) -> None:
    """Empty the kept machine code of a kernel where numba cannot read what it keeps about it.

    It names the classes of arguments. After an update that renames one, each call would raise an AttributeError, as
    numba reads the index before it looks whether the source has changed.
    """
    try:
        made._cache._cache_file._load_index()
    except Exception:  # whatever reading a pickle raises
        made._cache.flush()


def _is_kept(made: Any) -> bool:
    """Return whether there is machine code of an earlier process: there is none where no cache can be written."""
    try:
        return bool(made._cache._cache_file._load_index())
    except AttributeError:
        return False


def is_installed() -> bool:
    """Return whether numba is installed, without loading it."""
    return find_spec("numba") is not None


def is_usable() -> bool:
    """Return whether kernels can be compiled: numba is installed, and knows this NumPy. Loads numba."""
    try:
        check_installed()
    except MissingDependencyError:
        return False
    return True


def check_installed() -> None:
    """Load numba; raises MissingDependencyError naming the extra, or what numba cannot be used with."""
    _numba()


def _numba() -> ModuleType:
    """Return the module; raises MissingDependencyError where it is not installed or cannot be loaded."""
    try:
        return import_module("numba")
    except ModuleNotFoundError as error:
        if error.name == "numba":
            raise missing_extra("numba", EXTRA, PURPOSE) from error
        raise
    except (ImportError, OSError) as error:
        # Numba refuses versions of NumPy that it does not know yet, and says which it takes; or there is too little
        # memory to load it.
        raise MissingDependencyError(f"{PURPOSE} needs numba, which cannot be used here: {error}") from error
