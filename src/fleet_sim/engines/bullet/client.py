"""A connection to PyBullet, opened at its first use, whose functions need no client id."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import logging
import os
import re
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fleet_sim.base.arrays import as_float, as_floats
from fleet_sim.base.errors import StateError, of_extra
from fleet_sim.base.files import scratch_file

# What the engine prints, as lines of our log instead of text between the output of programs.


log = logging.getLogger("fleet_sim.engines.bullet")

STDOUT, STDERR = 1, 2
_BUILD_TIME = re.compile(rb"pybullet build time: [^\n]*\n")
_MOST_KNOWN = 1000
"""Messages that are remembered, so that a robot spawned a thousand times is complained about once."""
# As in `b3Warning[folder/file.cpp,126]:` and a line break; the message itself may end without one.
_LABEL = re.compile(r"b3(Printf|Warning|Error)(?:\[[^\]]*\])?:\s*")
_LEVELS = {"Printf": logging.DEBUG, "Warning": logging.WARNING, "Error": logging.ERROR}
_known: set[str] = set()


@contextmanager
def logged() -> Iterator[None]:
    """Log what the engine prints inside the block, each message once; warnings and errors of the engine as such.

    It prints to standard output, of which a process has one: the block should be one call into the engine, as what
    another thread prints there behind a message of the engine is taken for a part of it. Standard error is left alone.
    """
    with _filtered(STDOUT, _take_messages):
        yield


@contextmanager
def import_of_engine() -> Iterator[None]:
    """Leave out what the engine prints to standard error when it is imported: when it was built."""
    with _filtered(STDERR, lambda content: _BUILD_TIME.sub(b"", content)):
        yield


def _take_messages(content: bytes) -> bytes:
    """Log the messages of the engine, which it labels, and return what stands before them."""
    text = content.decode(errors="surrogateescape")
    label = _LABEL.search(text)
    others = text if label is None else text[: label.start()]
    _log(text[len(others) :])
    return others.encode(errors="surrogateescape")


@contextmanager
def _filtered(number: int, kept: Callable[[bytes], bytes]) -> Iterator[None]:
    """Hold back what the process writes to its output `number` in the block, also from C, and write what is `kept`.

    All buffers are flushed at both ends, so that no text ends up on the wrong side.
    """
    if os.name != "posix":
        yield
        return
    flush = ctypes.CDLL(None).fflush
    stream = {STDOUT: sys.stdout, STDERR: sys.stderr}[number]
    # None where a program has no console.
    if stream is not None:
        stream.flush()
    # libc has a buffer of its own: what is in it belongs to the old output.
    flush(None)
    with scratch_file() as target:
        saved = os.dup(number)
        try:
            os.dup2(target.fileno(), number)
            yield
        finally:
            flush(None)
            os.dup2(saved, number)
            os.close(saved)
            target.seek(0)
            content = kept(target.read())
            # A closed output is none of the engine's concern.
            with contextlib.suppress(OSError), open(number, "wb", closefd=False) as output:
                output.write(content)


def _log(text: str) -> None:
    for level, message in messages_of(text):
        if message not in _known and len(_known) < _MOST_KNOWN:
            _known.add(message)
            log.log(level, "PyBullet: %s", message)


def messages_of(text: str) -> list[tuple[int, str]]:
    """Return the messages in `text`, which begins with a label, with their levels."""
    _, *labelled = _LABEL.split(text)
    found = list[tuple[int, str]]()
    for label, lines in zip(labelled[::2], labelled[1::2], strict=True):
        words = lines.split()
        if len(words) == 1 and found:
            # The engine reports the name of the link that it complains about as a warning of its own.
            level, before = found.pop()
            found.append((level, f"{before}: {words[0]}"))
        elif words:
            found.append((_LEVELS[label], " ".join(words)))
    return found


SUBSTEP = 1.0 / 240.0
NO_BODY = -1

# These functions miss bodies made in a batch until syncBodyInfo is called.
_LISTING = frozenset({"getNumBodies", "getBodyInfo", "getBodyUniqueId", "saveWorld"})
_OWN_CALLS = {"connect": "connect()", "disconnect": "close()", "resetSimulation": "reset()"}


def bullet_module() -> Any:
    """Import pybullet and return it; raises MissingDependencyError naming the extra that installs it."""
    loaded = sys.modules.get("pybullet")
    if loaded is not None:
        return loaded
    with (
        of_extra("pybullet", "bullet", "What only PyBullet does: its window, its renderer, sim.bullet,"),
        import_of_engine(),
    ):
        return importlib.import_module("pybullet")


def data_path(name: str) -> str:
    """Return the path of a file that comes with PyBullet, such as "plane.urdf"."""
    with of_extra("pybullet_data", "bullet", f"The file {name!r}"):
        directory = importlib.import_module("pybullet_data").getDataPath()
    return str(Path(directory) / name)


class BulletClient:
    """A separate PyBullet world. Nothing is imported or connected before its first use.

    Every function and constant of pybullet is an attribute: functions act on this world, so `client.getAABB(body)`
    needs no `physicsClientId`. `epoch` increases whenever the world is emptied: ids of shapes and bodies are valid only
    within one epoch.
    """

    def __init__(
        self,
        *,
        gui: bool = False,
        floor: bool = False,
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
        window: tuple[int, int] = (1024, 768),
        solver_iterations: int = 50,
        contact_erp: float = 0.08,
    ) -> None:
        """Configure the world: with or without a window, and a floor (plane.urdf) at z = 0; gravity in m/s2.

        `window` is the size of the window in pixels; `solver_iterations` and `contact_erp` are the engine's. Raises
        InvalidValueError.
        """
        self.solver_iterations = solver_iterations
        self.contact_erp = contact_erp
        self.gui = gui
        self.floor = floor
        self.window = window
        self.gravity: tuple[float, ...] = tuple(as_floats(gravity, (3,), "gravity").tolist())
        self.timestep = SUBSTEP
        self.epoch = 0
        self.floor_id = NO_BODY
        self.on_connect: list[Callable[[], None]] = []
        self._id = -1
        self.connected = False
        """Whether the world exists already."""
        self._closed = False
        self._unlisted = False
        self._bound: list[str] = []
        self._engine_parameters: dict[str, Any] = {}
        self._quiet_depth = 0
        self._rendering = True
        self._draws = True

    # ---- connection --------------------------------------------------------------------------------------------------

    @property
    def id(self) -> int:
        """PyBullet's id of this connection, for use as `physicsClientId`; connects if needed."""
        return self.connect()

    @functools.cached_property
    def module(self) -> Any:
        """The pybullet module itself."""
        return bullet_module()

    def connect(self) -> int:
        """Create the world unless it exists, and return its id.

        Raises MissingDependencyError without pybullet, StateError after `close` or if no window can be opened.
        """
        if self._id >= 0:
            return self._id
        if self._closed:
            raise StateError("this PyBullet client was closed; create a new one")
        module = self.module
        if self.gui:
            _check_display()
            width, height = self.window
            number = _connect(module, module.GUI, f"--width={width} --height={height}")
        else:
            number = _connect(module, module.DIRECT, "")
        self._id, self.connected = number, True
        self._apply_rendering()
        self._prepare()
        for listener in self.on_connect:
            listener()
        return self._id

    def close(self) -> None:
        """Disconnect. May be called repeatedly, and without a connection."""
        if self._id >= 0:
            number, self._id, self.connected = self._id, -1, False
            if self.module.isConnected(number):
                self.module.disconnect(number)
        self._closed = True
        self.epoch += 1
        # The bound functions hold the id of this connection, which PyBullet gives to the next one.
        self._unbind()

    def reset(self) -> None:
        """Empty the world, add the floor again and start a new epoch; does nothing before the first connection."""
        if self._id < 0:
            return
        self.module.resetSimulation(physicsClientId=self._id)
        self.epoch += 1
        self._unlisted = False
        self._prepare()

    def set_gravity(self, gravity: Sequence[float]) -> None:
        """Set the gravity, in m/s2."""
        self.gravity = tuple(as_floats(gravity, (3,), "gravity").tolist())
        if self._id >= 0:
            self.module.setGravity(*self.gravity, physicsClientId=self._id)

    def set_timestep(self, seconds: float) -> None:
        """Set the duration of one `stepSimulation`."""
        seconds = as_float(seconds, "timestep", low=1e-9)
        if seconds != self.timestep:
            self.timestep = seconds
            if self._id >= 0:
                self.module.setTimeStep(seconds, physicsClientId=self._id)

    def set_engine_parameters(self, values: Mapping[str, Any]) -> None:
        """Set what `setPhysicsEngineParameter` takes, for every engine of this client: PyBullet forgets in a reset."""
        self.module.setPhysicsEngineParameter(**values, physicsClientId=self.connect())
        self._engine_parameters.update(values)

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Suspend drawing of the window inside the block, which makes spawning in bulk much faster. May be nested."""
        self._quiet_depth += 1
        self._apply_rendering()
        try:
            yield
        finally:
            self._quiet_depth -= 1
            self._apply_rendering()

    def set_rendering(self, on: bool) -> None:
        """Switch drawing of the window on or off; before a window opens, the value is stored for it."""
        self._rendering = bool(on)
        self._apply_rendering()

    def _apply_rendering(self) -> None:
        draws = self._rendering and self._quiet_depth == 0
        if self.gui and self._id >= 0 and draws != self._draws:
            self._draws = draws
            self.configureDebugVisualizer(self.module.COV_ENABLE_RENDERING, int(draws))

    def note_batch(self) -> None:
        """Note that bodies were made in a batch: PyBullet's list of bodies must be synchronised before its next use."""
        self._unlisted = True

    # ---- pybullet's functions ----------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        # Python itself asks for such names, as when it copies an object; that must not load PyBullet.
        if name.startswith("_"):
            raise AttributeError(name)
        if name in _OWN_CALLS:
            raise AttributeError(f"use BulletClient.{_OWN_CALLS[name]} in place of pybullet.{name}")
        value = getattr(self.module, name)
        if not callable(value) or isinstance(value, type):
            return value
        bound = functools.partial(value, physicsClientId=self.connect())
        if name.startswith("load"):
            bound = functools.partial(_logged, bound)
        if name in _LISTING:
            bound = functools.partial(self._listed, bound)
        # Stored on the instance, so that the next access does not call __getattr__.
        self.__dict__[name] = bound
        self._bound.append(name)
        return bound

    def _listed(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if self._unlisted:
            self.module.syncBodyInfo(physicsClientId=self._id)
            self._unlisted = False
        return function(*args, **kwargs)

    def _prepare(self) -> None:
        """Set gravity, time step and solver of a world that was just made or reset, and add the floor."""
        self.module.setGravity(*self.gravity, physicsClientId=self._id)
        self.module.setTimeStep(self.timestep, physicsClientId=self._id)
        # Without this, contacts are solved in the order in which they began, which a saved state does not contain.
        self.module.setPhysicsEngineParameter(
            deterministicOverlappingPairs=1,
            numSolverIterations=self.solver_iterations,
            contactERP=self.contact_erp,
            physicsClientId=self._id,
        )
        if self._engine_parameters:
            self.module.setPhysicsEngineParameter(**self._engine_parameters, physicsClientId=self._id)
        self.floor_id = NO_BODY
        if self.floor:
            self.floor_id = self.module.loadURDF(data_path("plane.urdf"), physicsClientId=self._id)

    def _unbind(self) -> None:
        for name in self._bound:
            self.__dict__.pop(name, None)
        self._bound.clear()


def _logged(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function that reads a file, which the engine comments on."""
    with logged():
        return function(*args, **kwargs)


def _connect(module: Any, method: int, options: str) -> int:
    """Return the number of a new PyBullet world; raises StateError where PyBullet has no more to give."""
    try:
        # PyBullet prints its options if any are passed, even empty ones.
        number = int(module.connect(method, options=options) if options else module.connect(method))
    except module.error as error:
        raise StateError(
            f"PyBullet cannot connect ({error}); a process can have one window and about a thousand worlds without. "
            "Close the other one first, or run with gui: false"
        ) from error
    if number < 0:
        raise StateError("PyBullet rejected the connection; close worlds that are no longer used")
    return number


def _check_display() -> None:
    """Raise StateError if PyBullet could not open a window: it would terminate the process instead."""
    if os.name != "posix" or os.uname().sysname != "Linux":
        return
    display = os.environ.get("DISPLAY", "")
    advice = "start an X server (or Xvfb) and set DISPLAY, or run with gui: false"
    if not display:
        raise StateError(f"a window was requested but DISPLAY is not set; {advice}")
    host, _, rest = display.rpartition(":")
    if host not in ("", "unix"):
        return
    path = f"/tmp/.X11-unix/X{rest.split('.')[0]}"
    if _listened_on(path) or _answers(path):
        return
    raise StateError(f"a window was requested but no X server answers at DISPLAY={display!r}; {advice}")


def _listened_on(path: str) -> bool:
    """Return whether the kernel lists a socket called `path`; unlike connecting, this does not disturb the X server."""
    try:
        return any(line.split()[-1].lstrip("@") == path for line in Path("/proc/net/unix").read_text().splitlines())
    except OSError:
        return False


def _answers(path: str) -> bool:
    """Return whether a socket accepts connections; one shared from another container is not listed by the kernel."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
    return True
