"""Kernels: functions on arrays and numbers that run as Python, or compiled by numba."""

from __future__ import annotations

import atexit
import fcntl
import functools
import hashlib
import inspect
import logging
import math
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import Pipe, connection
from pathlib import Path
from time import monotonic, perf_counter, thread_time
from types import CodeType, FunctionType, ModuleType
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from fleet_sim.base.errors import MissingDependencyError, has_room, missing_extra
from fleet_sim.base.files import cache_folder, keep_cached

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
    """A function that runs in Python until there is machine code of it for such arguments, with the same results.

    Machine code is kept in the user's cache by what it was made of: all checkouts and environments share it, and a word
    in a docstring or another name of a file compiles nothing. It is loaded once Python has taken longer than loading
    takes; what is not there is compiled by a process of low priority, if it goes on to take time. After
    `compile_at_first_call`, and for kernels of other packages, the first call compiles and waits for it.

    Results are those of the function in Python, except that divisions by zero give inf or nan, as in NumPy, and that
    indices are not checked: whoever calls a kernel has checked what goes in.
    """

    def __init__(
        self, function: Callable[P, R], options: dict[str, bool] | None = None, *, takes_apart: bool = True
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._options = options or {}
        # Else single numbers are all that it takes out of columns, which plain memory gives fastest.
        self._view: Callable[[Any], Any] = _Memory if takes_apart else memoryview
        self._machine_code: Callable[P, R] | None = None
        self._dispatcher: Any = None
        self._taken = 0.0
        """What calls in Python have taken in s."""
        self._next_look = 0.0
        """Before that time no machine code is looked for again."""
        self._asked: dict[Any, _Request] = {}
        """What is compiled elsewhere, by types of arguments."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the kernel; where it has to be compiled raises MissingDependencyError naming the extra without numba."""
        code = self._machine_code
        return self._choose(*args, **kwargs)(*args, **kwargs) if code is None else code(*args, **kwargs)

    def _choose(self, *args: P.args, **kwargs: P.kwargs) -> Callable[P, R]:
        """Return what runs for arguments of types that no machine code is loaded for."""
        if _at_once or not self._is_ours:
            return self._compiled_now(*args, **kwargs)
        now = monotonic()
        if now < self._next_look or not _backlog.is_worth_loading(self._taken):
            return self._run_in_python
        self._next_look = now + LOOK
        try:
            made = self.machine_code()
        except MissingDependencyError as error:
            _go_on_without(str(error))
            self._next_look = math.inf
            return self._run_in_python
        signature = tuple(map(made.typeof_pyval, args))
        request = self._asked.get(signature)
        if request is not None and not request.is_done():
            return self._run_in_python
        if _load(made, signature):
            self._machine_code = made
            found: Callable[P, R] = made
            return found
        if request is not None and request.is_lost:
            self._next_look = math.inf
        elif request is not None or not _can_keep(made):
            # No other process can hand it over, as no folder can be written.
            return self._compiled_now(*args, **kwargs)
        elif _backlog.is_worth_compiling(self._taken):
            source = self._source()
            self._asked[signature] = _backlog.ask(source.__module__, source.__name__, signature)
        return self._run_in_python

    def _compiled_now(self, *args: P.args, **_: P.kwargs) -> Callable[P, R]:
        """Load the machine code for such arguments, or make it, which takes seconds."""
        made = self.machine_code()
        signature = tuple(map(made.typeof_pyval, args))
        if not _load(made, signature):
            log.info("compiling %s for this machine, once (`fleet-sim warm` does it ahead)", self.name)
            begin = perf_counter()
            made.compile(signature)
            _compile_times.append(perf_counter() - begin)
            log.info("compiled %s in %.1f s", self.name, _compile_times[-1])
        self._machine_code = made
        found: Callable[P, R] = made
        return found

    def _run_in_python(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function in Python, and count how long that takes."""
        begin, thread = thread_time(), threading.get_ident()
        _backlog.running.add(thread)
        try:
            # As compiled code does, which has no warnings.
            with np.errstate(all="ignore"):
                return self.in_python(*(_as_memory(value, self._view) for value in args), **kwargs)
        finally:
            _backlog.running.discard(thread)
            taken = thread_time() - begin
            self._taken += taken
            _backlog.taken += taken

    @functools.cached_property
    def _is_ours(self) -> bool:
        """Whether another process finds this kernel by its name, without running code that is not ours."""
        source = self._source()
        module = source.__module__
        return module.startswith(f"{HOME}.") and getattr(sys.modules[module], source.__name__, None) is self

    @functools.cached_property
    def name(self) -> str:
        """File and name of the function."""
        source = self._source()
        return f"{source.__module__.rpartition('.')[2]}.{source.__name__}"

    def machine_code(self) -> Any:
        """Return what numba makes of the function: machine code by types of arguments, none at first."""
        if self._dispatcher is None:
            self._dispatcher = _compile(self._with_kernels(), self._options)
            # What it calls where it has no machine code for such arguments, to run what that returns.
            self._dispatcher._compile_for_args = self._choose
        return self._dispatcher

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
    folder = _folder() / f"numba-{_numba().__version__}-numpy-{np.__version__}"
    file = folder / f"{function.__name__.strip('<>')}-{fingerprint}.py"
    keep_cached(file, lambda: textwrap.dedent(inspect.getsource(function)).encode())
    return file


def compiled(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a kernel of a function on arrays and numbers; a decorator. It may call other kernels."""
    return Kernel(function)


def compiled_step(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a kernel for the step: it allocates nothing, and does not compile if it would.

    Without allocations there is no counting of references either. Counting those of fifty columns that are handed from
    function to function takes longer than moving a robot. It takes single numbers out of its arrays, never parts.
    """
    return Kernel(function, {"_nrt": False}, takes_apart=False)


def compiled_loop(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a kernel as `compiled_step` does, which hands rows of its arrays on."""
    return Kernel(function, {"_nrt": False})


def inlined(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a piece of kernels for the step: its code becomes part of each one that calls it.

    For what gets tables of columns, which would be copied at each call.
    """
    return Kernel(function, {"_nrt": False, "forceinline": True}, takes_apart=False)


def _compile(function: FunctionType, options: dict[str, bool]) -> Any:
    """Return the compiled function, kept on the disk for later processes where a folder can be written."""
    make = functools.partial(_numba().njit, error_model="numpy", **options)
    try:
        made = make(cache=True)(function)
        _discard_unreadable(made)
        made._cache.save_overload = functools.partial(_save, made._cache.save_overload)
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


def _save(save: Callable[[Any, Any], None], signature: Any, result: Any) -> None:
    """Keep machine code; where the disk is full this process goes on with what it has."""
    try:
        save(signature, result)
    except OSError as error:
        log.info("machine code is not kept: %s", error)


def _can_keep(made: Any) -> bool:
    """Return whether machine code is kept: it is not where no cache can be written."""
    return hasattr(made._cache, "_cache_file")


def _load(made: Any, signature: tuple[Any, ...]) -> bool:
    """Load the machine code for such arguments that some process has kept; return whether there was any."""
    if signature in made.overloads:
        return True
    kept = made._cache.load_overload(signature, made.targetctx)
    if kept is None:
        return False
    made.targetctx.insert_user_function(kept.entry_point, kept.fndesc, [kept.library])
    made.add_overload(kept)
    return True


# Python in place of machine code.


class _Memory:
    """An array for a kernel in Python: its elements are plain numbers, which count on as numbers of 64 bits do."""

    __slots__ = ("_array", "_numbers")

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self._array, self._numbers = array, array.data

    def __getitem__(self, place: Any) -> Any:
        try:
            return self._numbers[place]
        except (NotImplementedError, TypeError):
            found = self._array[place]
            return _Memory(found) if isinstance(found, np.ndarray) else found

    def __setitem__(self, place: Any, value: Any) -> None:
        try:
            self._numbers[place] = value
        except (NotImplementedError, TypeError, ValueError):
            self._array[place] = value

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._numbers) if self._array.ndim == 1 else map(_Memory, self._array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return self._array if dtype is None else self._array.astype(dtype)

    def __imul__(self, factor: float) -> _Memory:
        self._array *= factor
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._array, name)


def _as_memory(value: Any, view: Callable[[Any], Any]) -> Any:
    """Return arrays, alone or in tuples, as `view` shows them; other values stay."""
    if isinstance(value, np.ndarray):
        return view(value)
    if isinstance(value, tuple):
        parts = [_as_memory(part, view) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


# Compiling in a process of its own: Python goes on meanwhile.


LOADING = 1.0
"""What kernels take in Python, in s of a process, before machine code is looked for: loading numba takes longer."""
PATIENCE = 2.0
"""The same before one is compiled: most take seconds."""
SHARE = 0.1
"""Of these times: what one kernel has to have taken, as those that hardly run pay for nothing."""
LOOK = 0.1
"""How often a kernel looks whether there is machine code of it by now, in s."""
NICENESS = 5

_at_once = False
_handed_down: Path | None = None


def compile_at_first_call() -> None:
    """Let kernels of this process be compiled by their first call from now on, which waits for it."""
    global _at_once
    _at_once = True


def load_soon() -> None:
    """Load machine code that has been kept as soon as a kernel goes on to take time, as much will run in Python."""
    _backlog.taken = max(_backlog.taken, LOADING)


def must_be_usable() -> bool:
    """Return whether kernels are compiled by their first call, which numba has to be usable for."""
    return _at_once


@functools.cache
def _go_on_without(reason: str) -> None:
    log.warning("steps go on without compiled code: %s", reason)


def _folder() -> Path:
    """Return where machine code is kept; a process that compiles for another one keeps it where that one looks."""
    return _handed_down or cache_folder("kernels")


class _Request:
    """A kernel that another process is to compile."""

    def __init__(self, kernel: tuple[str, str, Any]) -> None:
        self.kernel = kernel
        self.is_lost = False
        """Whether that process is gone, so that it will never be done."""
        self.answered = False

    def is_done(self) -> bool:
        """Return whether there is an answer; looks for it."""
        _backlog.look()
        return self.answered


class _Backlog:
    """What kernels have taken in Python, and the process that compiles those that took long."""

    def __init__(self) -> None:
        self.taken = 0.0
        self.running: set[int] = set()
        """The threads in which a kernel runs in Python now."""
        self._lock = threading.Lock()
        self._waiting: deque[_Request] = deque()
        self._given: deque[_Request] = deque()
        self._count = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Any = None
        self._lifeline: Any = None

    def is_worth_loading(self, taken: float) -> bool:
        """Return whether to look for the machine code of a kernel that has taken so long."""
        return self.taken >= LOADING and taken >= SHARE * LOADING

    def is_worth_compiling(self, taken: float) -> bool:
        """Return whether to compile a kernel that has taken so long."""
        return self.taken >= PATIENCE and taken >= SHARE * PATIENCE

    def ask(self, module: str, name: str, signature: Any) -> _Request:
        """Let a kernel be compiled for such arguments, after those that were asked for before."""
        with self._lock:
            request = _Request((module, name, signature))
            self._waiting.append(request)
            self._count += 1
        self.look()
        return request

    def look(self) -> None:
        """Take the answers that are there, and give the process its next work."""
        with self._lock:
            try:
                if self._process is None and self._waiting:
                    self._start()
                while self._given and self._pipe.poll():
                    answer = self._pipe.recv()
                    # The first word of a process is only that it is there.
                    if isinstance(answer, tuple):
                        done = self._given.popleft()
                        done.answered = True
                        if answer[1]:
                            log.warning("%s runs in Python, as it cannot be compiled: %s", done.kernel[1], answer[1])
                            done.is_lost = True
                while self._waiting and len(self._given) < 2:
                    request = self._waiting.popleft()
                    self._given.append(request)
                    self._pipe.send(request.kernel)
            except (EOFError, OSError) as error:
                log.warning("steps go on without compiled code, as the process that compiles is gone: %r", error)
                for request in (*self._given, *self._waiting):
                    request.answered = request.is_lost = True
                self._given.clear()
                self._waiting.clear()
                self._end()

    def progress(self) -> str:
        """Return which kernel of how many is being compiled; nothing where none is."""
        if not self._waiting and not self._given:
            return ""
        self.look()
        return f"compiling {self._count - len(self._waiting) - len(self._given) + 1} of {self._count}"

    def _start(self) -> None:
        """Start the process; raises OSError."""
        # Not by multiprocessing, which runs the user's script again in each process that it starts.
        self._pipe, theirs = Pipe()
        lifeline, self._lifeline = Pipe(duplex=False)
        files = theirs.fileno(), lifeline.fileno()
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; serve{(*files, str(_folder()))!r}"
        )
        self._process = subprocess.Popen(
            # Nothing of the environment and the working folder but the path.
            [sys.executable, "-I", "-c", code],
            stdin=subprocess.DEVNULL,
            # Whoever reads what this process writes is not kept waiting for that one.
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=files,
            # Ctrl-C reaches the whole group of processes.
            start_new_session=True,
        )
        theirs.close()
        lifeline.close()
        atexit.register(self._end)

    def _end(self) -> None:
        """End the process, whatever it does."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            self._pipe.close()
            self._lifeline.close()
            atexit.unregister(self._end)


_backlog = _Backlog()


def _begin_anew() -> None:
    # The process of the parent answers the parent alone.
    global _backlog
    _backlog = _Backlog()


os.register_at_fork(after_in_child=_begin_anew)


def compiling() -> str:
    """Return "compiling 12 of 40" while another process compiles kernels for this one, else nothing."""
    return _backlog.progress()


def is_in_python(since: float) -> bool:
    """Return whether kernels have run in Python since `seconds_in_python` returned `since`, or do so now."""
    return bool(_backlog.running) or _backlog.taken > since


def seconds_in_python() -> float:
    """Return how long kernels of this process have run in Python so far."""
    return _backlog.taken


def serve(pipe: int, lifeline: int, folder: str) -> None:
    """Compile the kernels that are named through a pipe, and keep them in `folder`: what the process runs."""
    from fleet_sim.base import parallel

    global _handed_down
    _handed_down = Path(folder)
    os.nice(NICENESS)
    ends = connection.Connection(pipe), connection.Connection(lifeline)
    parallel.serve(*ends, pickle.dumps(_compiler), sys.path)


def _compiler() -> Callable[[tuple[str, str, Any]], None]:
    return _keep


def _keep(kernel: tuple[str, str, Any]) -> None:
    """Compile a kernel for arguments of certain types, unless another process has done so meanwhile."""
    module, name, signature = kernel
    made = getattr(import_module(module), name).machine_code()
    with _alone():
        if not _load(made, signature):
            made.compile(signature)


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other process compiles for the same folder, where the system can tell."""
    try:
        with open(_folder() / "compiling.lock", "w", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
    except OSError:
        yield


ROOM = 350 << 20
"""Bytes of address space that loading numba and compiling with it take."""


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
    if "numba" not in sys.modules and not has_room(ROOM):
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
