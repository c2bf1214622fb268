"""Controllers that choose an action: always the same, by binary sensors, by a method of the agent, by keyboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fleet_sim.base.arrays import AnyArray, Bools, Floats, Ints, as_floats
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.settings import setting
from fleet_sim.swarm.agents import Controller, Group, SwarmAgent
from fleet_sim.swarm.parameters import Configured, Vector, choice_setting, configured


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
