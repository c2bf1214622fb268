"""Controllers that choose an action, by binary sensors or keys, and that drive on their own: Levy walks, PID."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.base.arrays import AnyArray, Bools, Floats, Ints, as_floats
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.settings import Checked, setting
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.quaternions import wrapped
from fleet_sim.swarm.agents import AgentDraws, Controller, Group, SwarmAgent
from fleet_sim.swarm.parameters import Configured, Vector, choice_setting, configured, seed_setting


@configured
class StaticController(Configured, Controller):
    """Gives every agent the action `output`, for ever."""

    output: Vector = setting(
        (0.0, 0.0), doc="The action; for a unicycle linear velocity in m/s and angular velocity in rad/s."
    )

    def act(self, group: Group) -> Floats:
        """Return the action (N, 2)."""
        return np.full((len(group), 2), self.output)


# A controller that asks the agent's own method.


class AgentMethodController(Controller):
    """Asks the agent: its type, a class of yours derived from one here, has a method `get_actions()`.

    It returns the two numbers of the action.
    """

    def get_actions(self, agent: SwarmAgent) -> tuple[float, float]:
        """Return what `agent.get_actions()` does; raises InvalidValueError for a type without that method."""
        decide = getattr(agent, "get_actions", None)
        if not callable(decide):
            raise InvalidValueError(
                f"AgentMethodController: {type(agent).__name__} has no method get_actions(); derive a type of agent"
                " from it that has one, and name that one in `type`"
            )
        first, second = decide()
        return float(first), float(second)


# Steering by keyboard.


KEYS: dict[str, tuple[str, str, str, str]] = {
    "wasd": ("w", "s", "a", "d"),
    "arrowkeys": ("up", "down", "left", "right"),
    "ijkl": ("i", "k", "j", "l"),
}
"""Sets of keys: faster, slower, left, right."""
NO_KEYS = ("", "", "", "")


def read_joystick(value: object) -> None:
    """Return None; raises ValueError for a joystick, saying what drives by one."""
    if value is not None:
        raise ValueError(
            f"joysticks are not read, got {value!r}; write null and drive by keys, or leave the agent without a"
            " controller and send its cmd_vel with ROS 2's teleop_twist_joy"
        )


@configured
class HumanController(Configured, Controller):
    """Drives by the keys held down in the window; without a window it stands still.

    A key changes the speed, or the turning speed, by a little in each step, up to the end of its range; released, it
    goes back as it came.
    """

    keys: str | None = choice_setting("wasd", (*KEYS, None), "The set of keys; null: none, it stands still.")
    speed_range: Vector = setting((-0.3, 0.3), unit="m/s", doc="Smallest and largest linear velocity.")
    turn_range: Vector = setting((-1.5, 1.5), unit="rad/s", doc="Angular velocities to the right and to the left.")
    key_speed_mult: float = setting(0.01, low=0, unit="m/s", doc="Change of the linear velocity per step.")
    key_turn_mult: float = setting(0.1, low=0, unit="rad/s", doc="Change of the angular velocity per step.")
    joystick: None = setting(None, reader=read_joystick, schema={"type": "null"}, doc="None: there is no joystick.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        for name in ("speed_range", "turn_range"):
            low, high = getattr(self, name)
            if not low <= 0.0 <= high:
                raise self.refuse(f"{name} must be [least, most] with least <= 0 <= most, got {[low, high]}")

    @property
    def used_keys(self) -> tuple[str, ...]:
        """The keys it responds to."""
        return KEYS[self.keys] if self.keys is not None else ()

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        held = group.world.keys
        faster, slower, left, right = (key in held for key in self.used_keys or NO_KEYS)
        # Kept per agent from step to step: a key changes the action gradually, as a pedal does.
        action = self.column(group, "action", (2,))
        for axis, push, change, (low, high) in (
            (0, faster - slower, self.key_speed_mult, self.speed_range),
            (1, left - right, self.key_turn_mult, self.turn_range),
        ):
            values = action[:, axis]
            # Both keys, or none, lead back to 0.
            toward = high if push > 0 else low if push < 0 else 0.0
            values += np.minimum(np.maximum(toward - values, -change), change)
        # A copy: what is returned may be changed by others, and the memory must not.
        return np.array(action)


# Reading sensors in a controller, with errors that say what is wrong.


def reading(group: Group, sensor_id: int, what: str) -> AnyArray:
    """Return the last readings (N, ...) of sensor `sensor_id` of `group`; raises InvalidValueError without it."""
    if sensor_id not in group.readings:
        raise InvalidValueError(
            f"{what}: sensor_id {sensor_id} does not exist; these agents have {len(group.sensors)} sensors,"
            " which count from 0"
        )
    return group.readings[sensor_id]


def detections(group: Group, sensor_id: int, what: str) -> Bools:
    """Return which agents (N,) of `group` detect something: a reading other than 0, NaN and no row.

    Raises InvalidValueError where the sensor does not exist, or reads more than one number.
    """
    values = reading(group, sensor_id, what)
    if values.ndim != 1:
        raise InvalidValueError(f"{what}: sensor {sensor_id} gives {values.shape[1:]} numbers; a binary one is needed")
    if values.dtype.kind == "f":
        return np.asarray((values != 0) & ~np.isnan(values))
    return np.asarray(values != 0)


def positions(group: Group, sensor_id: int, what: str) -> Floats:
    """Return positions (N, 2) in the world frame from a sensor that reads them; NaN where it has none.

    Raises InvalidValueError where the sensor does not exist, or reads something else.
    """
    values = reading(group, sensor_id, what)
    if values.shape[1:] != (2,) and len(values):
        raise InvalidValueError(f"{what}: sensor {sensor_id} does not read positions; a Targeter does")
    return np.asarray(values, np.float64).reshape(len(group), 2)


# Two actions, chosen by one binary sensor.


_WHAT = "BinaryController"


@configured
class BinaryController(Configured, Controller):
    """Takes action `a` while the sensor detects nothing and action `b` while it detects something.

    With `sense_avg_time` above 1 it uses that many of the last readings: `b` where at least half were detections.
    """

    a: Any = setting(doc="Action of two numbers; without `b` it holds both: [a, b], or [a1, a2, b1, b2].")
    b: Any = setting(None, doc="Action of two numbers while the sensor detects something.")
    sensor_id: int = setting(0, low=0, doc="Index of the agent's sensor, from 0.")
    sense_avg_time: int = setting(1, low=1, doc="Number of readings to average.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        if self.b is None:
            self.a, self.b = _both(self.a)
        else:
            self.a, self.b = as_floats(self.a, (2,), f"{_WHAT}: a"), as_floats(self.b, (2,), f"{_WHAT}: b")

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        detected = detections(group, self.sensor_id, _WHAT)
        if self.sense_avg_time > 1:
            recent = self.column(group, "recent", (self.sense_avg_time,), dtype=bool, default=False)
            taken = self.column(group, "taken", dtype=np.int64)
            # A ring per agent: the oldest reading is overwritten, and their order does not matter for a count.
            recent[np.arange(len(group)), taken % self.sense_avg_time] = detected
            taken += 1
            known = np.minimum(taken, self.sense_avg_time)
            # A tie counts as detected; before the ring is full, only what was read so far is counted.
            detected = 2 * np.count_nonzero(recent, axis=1) >= known
        return np.where(detected[:, None], self.b, self.a)


def _both(a: Sequence[Any]) -> Floats:
    """Return two actions (2, 2) from a list of both; raises InvalidValueError."""
    try:
        # Ragged lists raise ValueError in NumPy; they get the same message as a wrong length.
        numbers = np.asarray(a, np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape not in ((4,), (2, 2)) or not np.isfinite(numbers).all():
        raise InvalidValueError(
            f"{_WHAT}: without b, a must hold both actions: [[a1, a2], [b1, b2]] or [a1, a2, b1, b2], got {a!r}"
        )
    return numbers.reshape(2, 2)


# An action for each combination of several binary sensors.


_MULTIBIT_BINARY_WHAT = "MultibitBinaryController"
# The table has an entry for each state: 65,536 of them.
_MAX_SENSORS = 16


def read_outputs(value: object) -> dict[int, Vector]:
    """Return actions by number from a list, or from a mapping; raises ValueError."""
    if not isinstance(value, (Mapping, Sequence)) or isinstance(value, str):
        raise ValueError(f"must be a list or a mapping of actions, got {value!r}")
    given = value if isinstance(value, Mapping) else dict(enumerate(value))
    outputs: dict[int, Vector] = {}
    for key, action in given.items():
        first, second = as_floats(action, (2,), f"action {key}").tolist()
        outputs[_state(key)] = first, second
    return outputs


def _state(key: Any) -> int:
    if isinstance(key, str) and key and set(key) <= {"0", "1"}:
        # As text only: YAML reads 0110 without quotes as a number, and often not as a binary one.
        return int(key, 2)
    if isinstance(key, int) and not isinstance(key, bool) and key >= 0:
        return key
    raise ValueError(f"a key of outputs is a whole number or binary digits in quotes, got {key!r}")


@configured
class MultibitBinaryController(Configured, Controller):
    """Takes the action in `outputs` for the state of its sensors.

    The sensors' bits form one number: the first sensor is the lowest bit, so sensors (1, 0, 1) are 0b101 = 5 and
    sensors (1, 0, 0) are 0b001 = 1.
    """

    outputs: dict[int, Vector] = setting(
        reader=read_outputs,
        schema={"type": ["array", "object"]},
        doc='Actions by number, as a list or a mapping; keys may be binary digits in quotes, such as "101".',
    )
    default_output: Vector | None = setting(
        None, doc="The action for states not in `outputs`; null: such a state is an error."
    )
    sensor_ids: list[int] | None = setting(
        None, low=0, doc="Indices of the sensors, lowest bit first; null: all sensors of the agent, in order."
    )

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        # Checked now where the number of sensors is known; else at the first step.
        if self.sensor_ids is not None:
            self._table(len(self.sensor_ids))

    def states(self, group: Group) -> Ints:
        """Return the number (N,) that the sensors of each agent make."""
        ids = range(len(group.sensors)) if self.sensor_ids is None else self.sensor_ids
        states = np.zeros(len(group), np.int64)
        for digit, sensor in enumerate(ids):
            states |= detections(group, sensor, _MULTIBIT_BINARY_WHAT).astype(np.int64) << digit
        return states

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        bits = len(group.sensors) if self.sensor_ids is None else len(self.sensor_ids)
        actions: Floats = self._table(bits)[self.states(group)]
        return actions

    def _table(self, count: int) -> Floats:
        """Return the actions (2**count, 2) of all states of `count` sensors."""
        if count > _MAX_SENSORS:
            raise InvalidValueError(f"{_MULTIBIT_BINARY_WHAT}: at most {_MAX_SENSORS} sensors, got {count}")
        # An action that can never be taken is a mistake in the number of sensors.
        beyond = [state for state in self.outputs if state >= 1 << count]
        missing = [state for state in range(1 << count) if state not in self.outputs]
        if beyond:
            raise InvalidValueError(
                f"{_MULTIBIT_BINARY_WHAT}: outputs has an action for {beyond[0]}, but "
                f"{count} sensors end at {(1 << count) - 1}"
            )
        if missing and self.default_output is None:
            raise InvalidValueError(
                f"{_MULTIBIT_BINARY_WHAT}: outputs has no action for {missing[0]} "
                f"({missing[0]:0{count}b}); add it, or a default_output"
            )
        # A dense table: all agents look up their actions in one indexing.
        return np.array([self.outputs.get(state, self.default_output) for state in range(1 << count)], np.float64)


# Driving on their own: Levy walks, and to a point by two PID controllers.


_HEADING, _INDEX, _NUMERATOR, _DENOMINATOR = 0, 1, 2, 3


@configured
class LevyController(Configured, Controller):
    """Drives straight on for a random length, turns to a random heading, and so on.

    Lengths have heavy tails: they are |u| / |v|^(1 / b) with normal u and v (Mantegna, "Fast, accurate algorithm for
    numerical simulation of Levy stable stochastic processes", 1994), in m, times `step_scale`. A new heading is any,
    evenly. An agent that touches something turns at once.
    """

    follows = ("_draws",)

    velocity: float = setting(above=0, unit="m/s", doc="Speed when driving straight.")
    angular_velocity: float = setting(above=0, unit="rad/s", doc="Angular velocity while turning.")
    levy_constant: float | None = setting(
        None, low=1e-3, high=2.0, doc="b, smaller is wilder; null: each agent draws its own from 1 to 2."
    )
    curving: bool = setting(False, doc="Drive on while turning.")
    timeout: float = setting(5.0, low=0, unit="s", doc="Longest straight segment.")
    timeout_steps: int | None = setting(None, low=1, doc="The same in steps; null: as `timeout` says.")
    step_scale: float = setting(1.0, low=0, doc="Factor of all lengths.")
    seed: int | None = seed_setting("lengths and headings")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self._draws = AgentDraws(self.seed)

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        left = self.column(group, "steps_left", dtype=np.int64)
        turning = self.column(group, "turning", dtype=bool, default=True)
        turn = self.column(group, "turn")
        count = self.column(group, "legs", dtype=np.int64)
        left -= 1
        # Who is turning already goes on: otherwise it would begin anew in each step at a wall.
        left[group.touching & ~turning] = 0
        ended_mask = left <= 0
        if ended_mask.any():
            self._begin_ways(group, ended_mask & turning, left, turn, count)
            self._begin_turns(group, ended_mask & ~turning, left, turn, count)
            turning[ended_mask] = ~turning[ended_mask]
            count[ended_mask] += 1
        speeds = np.where(turning & (not self.curving), 0.0, self.velocity)
        return np.stack((speeds, turn), axis=1)

    def _begin_ways(self, group: Group, mask: Bools, left: AnyArray, turn: AnyArray, count: Ints) -> None:
        """Draw the lengths of ways for the agents in `mask` (N,), as steps that are left; they drive straight."""
        index, widths = self._indices(group)
        # Numerator and denominator are separate sequences, so that they are independent.
        tall = self._draws.normals(group, self.slot, count, _NUMERATOR) * widths
        small = np.abs(self._draws.normals(group, self.slot, count, _DENOMINATOR))
        lengths = self.step_scale * np.abs(tall) / np.maximum(small, 1e-300) ** (1.0 / index)
        dt = group.world.dt
        longest = self.timeout_steps or max(1, math.ceil(self.timeout / dt - 1e-9))
        steps = np.ceil(np.minimum(lengths / (self.velocity * dt), longest)).astype(np.int64)
        left[mask] = np.maximum(steps[mask], 1)
        turn[mask] = 0.0

    def _begin_turns(self, group: Group, mask: Bools, left: AnyArray, turn: AnyArray, count: Ints) -> None:
        """Draw the angles of turns for the agents in `mask` (N,), spread over whole steps."""
        # Drawn for everybody and used where `mask` is set: a draw depends on agent and leg only, so unused ones change
        # nothing.
        angles = (2.0 * self._draws.uniforms(group, self.slot, count, _HEADING) - 1.0) * np.pi
        dt = group.world.dt
        steps = np.maximum(np.ceil(np.abs(angles) / (self.angular_velocity * dt)), 1.0).astype(np.int64)
        left[mask] = steps[mask]
        # Spread over whole steps, so that the angle is met.
        turn[mask] = (angles / (steps * dt))[mask]

    def _indices(self, group: Group) -> tuple[Floats, Floats]:
        """Return each agent's Levy index (N,), and the width (N,) of its numerator."""
        index = self.column(group, "index")
        widths = self.column(group, "width")
        fresh = np.flatnonzero(index == 0.0)
        if len(fresh):
            drawn = 1.0 + self._draws.uniforms(group, self.slot, np.zeros(len(group), np.int64), _INDEX)
            index[fresh] = drawn[fresh] if self.levy_constant is None else self.levy_constant
            widths[fresh] = [numerator_width(value) for value in index[fresh].tolist()]
        return index, widths


def numerator_width(index: float) -> float:
    """Return the standard deviation of the numerator in Mantegna's algorithm for a Levy `index` in (0, 2]."""
    if index >= 2.0:
        # The limit: sin(pi) is 0. Widths below make lengths that are normal to a good approximation.
        return numerator_width(2.0 - 1e-3)
    top = math.gamma(1.0 + index) * math.sin(0.5 * math.pi * index)
    bottom = math.gamma(0.5 * (1.0 + index)) * index * 2.0 ** (0.5 * (index - 1.0))
    return float((top / bottom) ** (1.0 / index))


# Driving to a point, by two PID controllers.


@dataclass(frozen=True)
class PID(Checked):
    """Gains and limits of a PID controller."""

    p: float = setting(0.0, doc="Proportional gain.")
    i: float = setting(0.0, doc="Integral gain.")
    d: float = setting(0.0, doc="Derivative gain.")
    imax: float | None = setting(None, doc="Limit of the magnitude of the integral term; null: none.")
    min: float | None = setting(None, doc="Lower limit of the output; null: none.")
    max: float | None = setting(None, doc="Upper limit of the output; null: none.")

    def output(self, errors: Floats, memory: AnyArray, dt: float) -> Floats:
        """Return the outputs (N,) for `errors` (N,), one step of `dt` s after the last call.

        `memory` (N, 2) holds the i term and the last error, NaN before the first; it is updated in place.
        """
        integral, last = memory[:, 0], memory[:, 1]
        integral += self.i * errors * dt
        if self.imax is not None:
            # Against windup: a long error must not have to be unlearnt as long.
            np.clip(integral, -abs(self.imax), abs(self.imax), out=integral)
        # Without a last error there is no derivative: the first call makes no jump.
        change = np.where(np.isnan(last), 0.0, errors - last) / dt
        last[:] = errors
        out = self.p * errors + integral + self.d * change
        low, high = -np.inf if self.min is None else self.min, np.inf if self.max is None else self.max
        return np.asarray(np.minimum(np.maximum(out, low), high))


_EMPTY = (0.0, np.nan)


@configured
class WaypointPIDController(Configured, Controller):
    """Drives to a waypoint: one PID makes the speed from the distance, one the turning speed from the bearing.

    An agent without a waypoint stands still.
    """

    follows = ("_speed", "_steer")

    sensor_id: int | None = setting(None, low=0, doc="A sensor that reads positions, such as a Targeter.")
    speed_pid: PID | None = setting(None, doc="PID from the distance in m to the speed.")
    steer_pid: PID | None = setting(None, doc="PID from the bearing in rad to the angular velocity.")
    static_waypoint: Vector | None = setting(None, unit="m", doc="The waypoint if there is no `sensor_id`.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        if (self.sensor_id is None) == (self.static_waypoint is None):
            raise self.refuse("give either sensor_id or static_waypoint")
        self._speed, self._steer = self.speed_pid or PID(), self.steer_pid or PID()

    def waypoints(self, group: Group) -> Floats:
        """Return where each agent is headed (N, 2); NaN for nowhere."""
        if self.sensor_id is not None:
            return positions(group, self.sensor_id, "WaypointPIDController")
        return np.broadcast_to(np.asarray(self.static_waypoint), (len(group), 2))

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        way = self.waypoints(group) - group.positions
        x, y = way[:, 0], way[:, 1]
        lost_mask = np.isnan(x) | np.isnan(y)
        x, y = np.where(lost_mask, 0.0, x), np.where(lost_mask, 0.0, y)
        distances = np.sqrt(x * x + y * y)
        # At the waypoint there is no bearing; that of a rounding error would make the agent spin.
        bearings = np.where(distances > 0.0, wrapped(trig.arctan2(y, x) - group.headings), 0.0)
        speeds, turns = (self.column(group, name, (2,), default=_EMPTY) for name in ("speed", "steer"))
        dt = group.world.dt
        actions = np.stack((self._speed.output(distances, speeds, dt), self._steer.output(bearings, turns, dt)), axis=1)
        # The next waypoint begins without the integral and the error of the lost one.
        for memory in (speeds, turns):
            memory[lost_mask] = _EMPTY
        return np.where(lost_mask[:, None], 0.0, actions)
