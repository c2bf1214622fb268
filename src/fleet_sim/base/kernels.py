"""Kernels: functions on arrays that run as Python or compiled by numba, and rotations written as kernels."""

from __future__ import annotations

import functools
import hashlib
import inspect
import logging
import math
import mmap
import sys
import textwrap
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from types import CodeType, FunctionType, ModuleType
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar

import numpy as np

from fleet_sim.base.errors import MissingDependencyError, missing_extra
from fleet_sim.base.files import cache_folder, keep_cached
from fleet_sim.base.spatial import trigonometry as trig

P = ParamSpec("P")
R = TypeVar("R")

PURPOSE = "compiled code (of traffic, and of large worlds)"
EXTRA = "fast"
HOME = "fleet_sim"
"""The module that kept machine code names and imports."""
log = logging.getLogger("fleet_sim.base.kernels")
_FORM = 2
"""Changed where kept machine code of an earlier form of this file cannot be used any more."""

_compile_times: list[float] = []


def compile_seconds() -> float:
    """Return how long this process has compiled kernels so far; loading kept machine code does not count."""
    return sum(_compile_times)


class Kernel(Generic[P, R]):
    """A function that is compiled at its first call, which loads numba; later processes load the machine code.

    The code is kept in the user's cache by what it was made of: all checkouts and environments share it, and a word in
    a docstring or another name of a file compiles nothing. Results are those of the function in Python, except that
    divisions by zero give inf or nan, as in NumPy, and that indices are not checked: whoever calls a kernel has checked
    what goes in.
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
        """Return the function with the kernels that it calls in place of these objects, which numba does not know.

        Its source is a file in the user's cache, named by the fingerprint, that holds nothing but the function: numba
        keeps machine code beside the source of a function, and until that file changes.
        """
        function = self._source()
        names = dict(function.__globals__)
        names.update({name: value.machine_code() for name, value in self._used() if isinstance(value, Kernel)})
        code = function.__code__
        try:
            file = _kept_source(function, self.fingerprint)
            code = code.replace(co_filename=str(file), co_firstlineno=1)
        except OSError:
            pass  # typed into an interpreter, or no folder can be written: compiled anew in each process
        linked = FunctionType(code, names, function.__name__, function.__defaults__)
        # Where the source could not be kept, numba would take its own file as the only one that matters.
        # Machine code imports the module that it names: one that is always there, as files get other names.
        linked.__qualname__, linked.__module__ = f"{function.__qualname__}_{self.fingerprint}", HOME
        return linked

    @functools.cached_property
    def fingerprint(self) -> str:
        """What the machine code is made of: code, constants and the kernels that the function uses."""
        function = self._source()
        content = hashlib.sha256(f"{HOME} {_FORM} {sorted(self._options)} {function.__defaults__}".encode())
        for code in _codes(function.__code__):
            constants = [
                value for value in code.co_consts if not isinstance(value, CodeType) and value != function.__doc__
            ]
            content.update(code.co_code + repr((constants, code.co_names, code.co_varnames)).encode())
        for name, value in self._used():
            content.update(f"{name} {_identity(name, value)}".encode())
        for name, value in sorted(function.__globals__.items()):
            # Annotations name the classes of arguments; machine code has the places of their fields built in.
            if hasattr(value, "_fields"):
                content.update(f"{name} {value._fields}".encode())
        return content.hexdigest()[:16]

    def _used(self) -> list[tuple[str, Any]]:
        """Return name and value of what the function uses of the globals of its file."""
        function = self._source()
        names = {name for code in _codes(function.__code__) for name in code.co_names}
        return [(name, function.__globals__[name]) for name in sorted(names & function.__globals__.keys())]

    def _source(self) -> FunctionType:
        assert isinstance(self.function, FunctionType)
        return self.function

    @functools.cached_property
    def in_python(self) -> Callable[P, R]:
        """The function in Python, calling other kernels in Python too: to compare, and where there is no numba."""
        function = self._source()
        kernels = {name: value.in_python for name, value in self._used() if isinstance(value, Kernel)}
        names = function.__globals__ | kernels
        return FunctionType(function.__code__, names, function.__name__, function.__defaults__)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of the functions and comprehensions in it."""
    yield code
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _codes(value)


def _identity(name: str, value: object) -> str:
    """Return a text that differs where machine code that uses the global `value` differs."""
    if isinstance(value, Kernel):
        return str(value.fingerprint)
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    if isinstance(value, bool | int | float | str | tuple):
        return repr(value)
    if isinstance(value, ModuleType | type) or callable(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}"
    raise TypeError(f"a kernel uses the global {name!r}, whose changes would not be seen: {value!r}")


def _kept_source(function: FunctionType, fingerprint: str) -> Path:
    """Return a file of the cache with the source of a function; written once, so that numba finds it unchanged.

    Raises OSError where there is no source, or no folder can be written.
    """
    # Other versions would replace what numba keeps.
    folder = cache_folder("kernels") / f"numba-{_numba().__version__}-numpy-{np.__version__}"
    file = folder / f"{function.__name__.strip('<>')}-{fingerprint}.py"
    keep_cached(file, lambda: textwrap.dedent(inspect.getsource(function)).encode())
    return file


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


ROOM = 350 << 20
"""Bytes of address space that loading numba and compiling with it take."""


def has_room(size: int = ROOM) -> bool:
    """Return whether this process may ask for `size` bytes more, which `ulimit -v` may forbid."""
    try:
        # Asked for and given back; nothing of it is touched.
        mmap.mmap(-1, size).close()
    except OSError:
        return False
    return True


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
    if "numba" not in sys.modules and not has_room():
        # The libraries that it loads would ask for memory again and again, for ever.
        raise MissingDependencyError(
            f"{PURPOSE} needs numba, which needs {ROOM >> 20} MB of memory, which is more than there is (see ulimit -v)"
        )
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


# Kernels of rotations: one quaternion or angle at a time, bit-identical to `spatial.quaternions`. Quaternions are (x,
# y, z, w), vectors (x, y, z), both as tuples.


Vector: TypeAlias = tuple[float, float, float]
Quaternion: TypeAlias = tuple[float, float, float, float]

sin_cos = compiled_step(trig.sin_cos_of)
atan2 = compiled_step(trig.atan2_of)

_TINY = 1e-12
# As in `normalized`: below, a quaternion has no direction.
_SHORTEST = 1e-6


@compiled_step
def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return the product a * b: first b's rotation, then a's."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


@compiled_step
def norm_of(q: Quaternion) -> float:
    """Return the norm, exactly 1 where it is so near that `normalized` leaves the numbers as they are.

    NaN where `quaternions.normalized` would reject them, or treat them in another way.
    """
    norm = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    if not _SHORTEST <= norm < math.inf:
        return math.nan
    return 1.0 if abs(norm - 1.0) < 1e-12 else norm


@compiled_step
def heading(q: Quaternion) -> float:
    """Return the heading of the body's x axis, as `quaternions.yaws`."""
    x, y, z, w = q
    return float(atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)))


@compiled_step
def to_rotation_vector(q: Quaternion) -> Vector:
    """Return axis times angle of the shorter rotation."""
    x, y, z, w = q
    sign = -1.0 if w < 0.0 else 1.0
    sine = math.sqrt(x * x + y * y + z * z)
    angle = 2.0 * atan2(sine, abs(w))
    scale = sign * (angle / max(sine, _TINY) if sine > _TINY else 2.0)
    return x * scale, y * scale, z * scale


@compiled_step
def from_rotation_vector(vector: Vector) -> Quaternion:
    """Return the rotation about axis times angle."""
    x, y, z = vector
    angle = math.sqrt(x * x + y * y + z * z)
    sine, cosine = sin_cos(0.5 * angle)
    scale = sine / max(angle, _TINY) if angle > _TINY else 0.5
    return x * scale, y * scale, z * scale, cosine


@compiled_step
def cross(a: Vector, b: Vector) -> Vector:
    """Return the vector product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@compiled_step
def rotate(q: Quaternion, v: Vector) -> Vector:
    """Return a rotated vector, as `quaternions.rotate`, which rounds otherwise than `to_world`."""
    x, y, z, w = q
    tx, ty, tz = 2.0 * (y * v[2] - z * v[1]), 2.0 * (z * v[0] - x * v[2]), 2.0 * (x * v[1] - y * v[0])
    return (v[0] + w * tx + (y * tz - z * ty), v[1] + w * ty + (z * tx - x * tz), v[2] + w * tz + (x * ty - y * tx))


@compiled_step
def to_body(q: Quaternion, v: Vector) -> Vector:
    """Return a world vector in the frame rotated by `q`, as `components.to_body`."""
    tx, ty, tz = cross((q[0], q[1], q[2]), v)
    tx, ty, tz = tx + tx, ty + ty, tz + tz
    cx, cy, cz = cross((q[0], q[1], q[2]), (tx, ty, tz))
    return (v[0] - q[3] * tx) + cx, (v[1] - q[3] * ty) + cy, (v[2] - q[3] * tz) + cz


@compiled_step
def to_world(q: Quaternion, v: Vector) -> Vector:
    """Return a vector of the frame rotated by `q` in the world frame, as `components.to_world`."""
    tx, ty, tz = cross((q[0], q[1], q[2]), v)
    tx, ty, tz = tx + tx, ty + ty, tz + tz
    cx, cy, cz = cross((q[0], q[1], q[2]), (tx, ty, tz))
    return (v[0] + q[3] * tx) + cx, (v[1] + q[3] * ty) + cy, (v[2] + q[3] * tz) + cz


@compiled_step
def dot(a: Vector, b: Vector) -> float:
    """Return the scalar product, added in the order of `components.dot`."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
