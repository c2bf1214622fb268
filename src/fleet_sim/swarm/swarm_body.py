"""One agent or object by its row: where it is and what it looks like, whatever type it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fleet_sim.arrays import NO_ROWS, Floats, Rows, as_float, as_floats
from fleet_sim.core.world import World
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.errors import StaleHandleError, StateError
from fleet_sim.saved_classes import saved
from fleet_sim.settings import read
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.agent_config import AgentConfig
from fleet_sim.swarm.attributes import check_assignment
from fleet_sim.swarm.canvas import RANDOM_COLOR, Canvas, Color, contrast, drawn_color
from fleet_sim.swarm.crowd import SwarmColumns


@saved
class Start(NamedTuple):
    """Where a body that is not spawned yet is to be, and its name there."""

    position: Floats
    angle: float
    name: str | None


class LivePosition(np.ndarray[Any, np.dtype[np.float64]]):
    """A copy (2,) of where a body is. Writing into it moves the body from where that is by then."""

    _body: SwarmBody | None = None

    @classmethod
    def of(cls, body: SwarmBody, position: Floats) -> LivePosition:
        """Return one of `body`, which is at `position`."""
        live = position.copy().view(cls)
        live._body = body
        # What cannot be noticed here, such as `numpy.add(..., out=agent.pos)`, is refused by NumPy.
        live.flags.writeable = False
        return live

    def _changed(self, change: Callable[[Floats], object]) -> Any:
        """Make `change` to where the body is; what was computed from one has no body, and is a plain array."""
        if self._body is None:
            change(self.view(np.ndarray))
            return self
        values = np.array(self._body.position)
        change(values)
        self._body.position = values
        self.flags.writeable = True
        np.copyto(self, values)
        self.flags.writeable = False
        return self

    def __setitem__(self, index: Any, value: Any) -> None:
        self._changed(lambda values: values.__setitem__(index, value))

    def __iadd__(self, other: Any) -> Any:  # type: ignore[misc]  # as NumPy's own, it takes more than the plain one
        return self._changed(lambda values: np.add(values, other, out=values))

    def __isub__(self, other: Any) -> Any:  # type: ignore[misc]  # as NumPy's own, it takes more than the plain one
        return self._changed(lambda values: np.subtract(values, other, out=values))

    def __imul__(self, other: Any) -> Any:  # type: ignore[misc]  # as NumPy's own, it takes more than the plain one
        return self._changed(lambda values: np.multiply(values, other, out=values))

    def __itruediv__(self, other: Any) -> Any:  # type: ignore[misc]  # as NumPy's own, it takes more than the plain one
        return self._changed(lambda values: np.divide(values, other, out=values))

    def __reduce__(self) -> Any:
        """Pickle the numbers alone."""
        return np.array(self).__reduce__()


class BodyType(type):
    """Notes when the constructor of a body is done: from then on what is assigned to it acts or is refused."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a new body that is in no world yet, with its controller and sensors."""
        # Parts are made after the whole chain of constructors, as a subclass may set what they need.
        body = cls.made(None, *args, **kwargs)
        body.furnish()
        return body

    def made(cls, start: Start | None, *args: Any, **kwargs: Any) -> Any:
        """Return a new body without controller and sensors; with `start` its constructor sees where it will be."""
        body: Any = object.__new__(cls)  # type: ignore[arg-type]  # the classes of this type are plain ones
        # Past __setattr__, which looks at `is_made`.
        vars(body).update(_start=start, is_made=False)
        body.__init__(*args, **kwargs)
        vars(body)["is_made"] = True
        return body


class SwarmBody(metaclass=BodyType):
    """A handle over one row of a world's columns; see `SwarmAgent` for what it can do.

    One made in code has no row until it is put into its world: `_start` then says where it will be. Reading what only a
    row has raises StateError before that, and StaleHandleError after it was removed.
    """

    law: ClassVar[str | None] = None
    """The motion law that moves it; None: nothing does."""
    _shared: ClassVar[frozenset[str]] = frozenset(("columns", "swarm", "row", "_handle", "_start", "is_made"))
    """The attributes that its world and its group know, so that what it keeps itself is the rest."""
    _start: Start | None
    is_made: bool
    """Whether its constructor is done; from then on, what is assigned to it acts or is refused."""

    def __init__(self, columns: World, swarm: SwarmColumns, config: AgentConfig, start: Start) -> None:
        self.columns = columns
        self.swarm = swarm
        self.row = -1
        self.config: Any = config
        """What it was made from: the settings class of its type."""
        # `made` has set it where the world spawns; a constructor called by hand gives one of its own.
        self._start = self._start or start
        self._handle: SimObject | None = None
        self._last: Start | None = None

    @classmethod
    def standing_for(cls, handle: SimObject, columns: World, swarm: SwarmColumns) -> Any:
        """Return a body for `handle` without its constructor; it gets its settings afterwards."""
        body = object.__new__(cls)
        vars(body).update(columns=columns, swarm=swarm, row=handle.place[0], config=None, _handle=handle)
        vars(body).update(_start=None, _last=None, is_made=True)
        return body

    def bind(self, handle: SimObject) -> None:
        """Stand for the row of `handle` from now on."""
        self._handle, self.row, self._start = handle, handle.row, None

    def depart(self) -> None:
        """Note where it is, before its row is given to others; see `last`."""
        # Copied: the row will be another's.
        self._last = Start(self.columns.position[self.row, :2].copy(), self._heading(), None)

    @property
    def last(self) -> Start:
        """Where it is, or was when it was removed."""
        if self._last is not None and not self.is_alive:
            return self._last
        return Start(self.position, self.angle, self.name)

    @property
    def own_state(self) -> dict[str, Any]:
        """Its settings and what a subclass keeps in attributes, without what its world and its group know."""
        return {name: value for name, value in vars(self).items() if name not in type(self)._shared}

    def take_own(self, own: Mapping[str, Any]) -> None:
        """Go back to what `own_state` was."""
        vars(self).update(own)

    def furnish(self) -> None:
        """Get what the configuration says that it has."""

    @property
    def handle(self) -> SimObject:
        """The entity in the core: an Agent where it can move, else a SimObject."""
        if self._handle is None:
            kind = type(self).__name__
            raise StateError(f"this {kind} is in no world yet: world.population.append(agent) puts it there")
        return self._handle

    @property
    def is_new(self) -> bool:
        """Whether it was made in code and is in no world yet."""
        return self._start is not None

    def __setattr__(self, name: str, value: object) -> None:
        # In constructors anything may be set; afterwards a name that nobody reads is a mistake.
        if self.is_made:
            advice = "remove the agent and spawn another one, or say it in the configuration"
            check_assignment(self, name, type(self.config), advice)
        super().__setattr__(name, value)

    def _require_alive(self) -> int:
        if not self.handle.is_alive:
            raise StaleHandleError(f"{type(self).__name__} {self.handle.last_label} was removed")
        return self.row

    @property
    def is_alive(self) -> bool:
        """Whether it is in its world: put there, and not removed."""
        return self._handle is not None and bool(self._handle.is_alive)

    # ---- where it is -------------------------------------------------------------------------------------------------

    @property
    def position(self) -> Floats:
        """Where it is (2,), in m, as a copy; `position[0] = 2.0` and `position += (1.0, 0.0)` move it."""
        if self._start is not None:
            return LivePosition.of(self, self._start.position)
        return LivePosition.of(self, self.columns.position[self._require_alive(), :2])

    @position.setter
    def position(self, value: object) -> None:
        self.place(value, self.angle)

    @property
    def x_pos(self) -> float:
        """Where it is along x, in m."""
        return float(self.position[0])

    @property
    def y_pos(self) -> float:
        """Where it is along y, in m."""
        return float(self.position[1])

    @property
    def angle(self) -> float:
        """Its heading in (-pi, pi] rad, counter-clockwise from the x axis."""
        if self._start is not None:
            return self._start.angle
        self._require_alive()
        return self._heading()

    @angle.setter
    def angle(self, value: float) -> None:
        self.place(self.position, value)

    def _heading(self) -> float:
        return quaternions.yaw_of(self.columns.orientation, self.row)

    def place(self, position: object, angle: float) -> None:
        """Put it at `position` (2,) with the heading `angle`; raises InvalidValueError for what is not finite."""
        if self._start is not None:
            point, heading = as_floats(position, (2,), "position").copy(), as_float(angle, "angle in rad")
            self._start = Start(point, heading, self._start.name)
            return
        self.put(position, angle)

    def put(self, position: object, angle: float) -> None:
        """Move its row there; see `place`."""
        raise NotImplementedError

    @property
    def linear(self) -> float:
        """Its speed along its heading, in m/s."""
        return float(self.columns.motion.body_linear[self._require_alive(), 0])

    @property
    def angular(self) -> float:
        """Its turning speed, in rad/s."""
        return float(self.columns.motion.body_angular[self._require_alive(), 2])

    # ---- what it is --------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str | None:
        """Its name, unique in the world."""
        if self._start is not None:
            return self._start.name
        return self.columns.index.names[self._require_alive()]

    @property
    def radius(self) -> float:
        """The radius of its disc, in m."""
        if self._start is not None:
            return float(self.config.disc)
        return float(self.swarm.agent_radius[self._require_alive()])

    @property
    def touching(self) -> bool:
        """Whether it touched a wall, an object or another agent in this step."""
        return bool(self.swarm.touching[self._require_alive()])

    @property
    def halted(self) -> bool:
        """Whether it moves no more: at a goal, or disabled by a collision."""
        return bool(self.swarm.halted[self._require_alive()])

    @property
    def body_color(self) -> Color:
        """What pictures of the world draw it in: red, green, blue up to 255."""
        color: Color = self.config.body_color
        return color

    @body_color.setter
    def body_color(self, color: object) -> None:
        # Through the settings, which know all that a color may be.
        checked = read(type(self.config), {"body_color": color}).body_color
        if checked == RANDOM_COLOR:
            checked = drawn_color(self.columns.random.stream("swarm colors"))
        # Others may have been made from the same settings.
        self.config = replace(self.config, body_color=checked).in_use("an agent")

    @property
    def outline(self) -> Floats | None:
        """The corners (K, 2) of its polygon in the world frame, or None where it is a disc."""
        corners = self.config.outline
        if corners is None:
            return None
        sine, cosine = trig.sin_cos_of(self.angle)
        x, y = corners[:, 0], corners[:, 1]
        return self.position + np.stack((cosine * x - sine * y, sine * x + cosine * y), axis=1)

    def __deepcopy__(self, memo: dict[int, Any]) -> SwarmBody:
        """A handle stays itself in a copy of what refers to it."""
        return self

    def __repr__(self) -> str:
        if self._handle is None:
            return f"<{type(self).__name__} in no world yet>"
        label = self.name if self.is_alive else f"{self._handle.last_label} (removed)"
        return f"<{type(self).__name__} {label}>"


def rows_of(bodies: Iterable[SwarmBody]) -> Rows:
    """Return the rows of bodies, in their order."""
    rows = [body.row for body in bodies]
    return np.array(rows, np.int64) if rows else NO_ROWS


def draw_body(body: SwarmBody, canvas: Canvas) -> None:
    """Draw a body: its polygon or its disc, with a line along its heading where it can move."""
    color, outline = body.config.body_color, body.outline
    fill = color if body.config.body_filled else None
    if outline is not None:
        canvas.polygon(outline, fill=fill, outline=color)
        return
    canvas.circle(body.position, body.radius, fill=fill, outline=color)
    if body.law is not None and body.radius > 0.0:
        ahead = np.array([trig.cos(body.angle), trig.sin(body.angle)]) * body.radius
        canvas.line(np.stack((body.position, body.position + ahead)), contrast(color) if fill else color)
