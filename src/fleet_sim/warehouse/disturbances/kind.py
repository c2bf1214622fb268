"""What a kind of disturbance is: settings with an effect, or with code that begins and ends it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from fleet_sim.base.params import ActionCause, Mode
from fleet_sim.base.registry import saved
from fleet_sim.base.settings import Checked
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.world.conditions import EmergencyStop, OperatingMode, RobotError


class Aim(Mode):
    """What a kind of disturbance is aimed at: each of these by name, or an area as a whole."""

    ROBOTS = "robots"
    STATIONS = "stations"
    DOORS = "doors"
    LIFTS = "lifts"
    AREA = "area"


class Effect(NamedTuple):
    """What holds for a robot while it is disturbed. Of several disturbances the worst of each counts."""

    halts: str = ""
    """Why it may not drive, as in "it has broken down"; empty: it may."""
    cause: ActionCause = ActionCause.DISTURBED
    """With which its actions end, where it may not drive."""
    pace: float = 1.0
    """How fast it drives at most, as a share of its speed limits."""
    faults: Sequence[str] = ()
    """Names of FAULTS (`world/features.py`)."""
    mode: OperatingMode = OperatingMode.AUTOMATIC
    emergency_stop: EmergencyStop = EmergencyStop.NONE
    silent: bool = False
    """Whether it sends nothing, and nothing reaches it."""
    charge_error: float = 0.0
    """By how much the charge that it tells is wrong, 0.5: it tells half of its capacity too much."""
    uncharged: bool = False
    """Whether its battery takes no charge."""
    failure: float = 0.0
    """Probability that an action of it fails."""
    errors: Sequence[RobotError] = ()
    """What it tells its fleet manager."""


NO_EFFECT = Effect()


@saved
@dataclass
class Event:
    """One disturbance of one target, from tick `begin` to tick `end`, which is -1 where none is known.

    `target` is a name; of a robot `robot` is the object id, of others -1. `count` says how many of its entry came
    before it for this target: with the key of the entry, it is what random numbers are drawn by. `memory` holds plain
    values that the kind wants to find again when it ends it.
    """

    id: str
    entry: int
    target: str
    robot: int
    count: int
    begin: int
    end: int
    memory: dict[str, Any] = field(default_factory=dict)


class Disturbed(NamedTuple):
    """What a kind is given with an event: the simulation, the rows of the robot (none of another target), the key."""

    sim: MultiRobotSimulationCore
    event: Event
    row: int
    """Of the robot; -1 for another target."""
    corners: Sequence[Sequence[float]]
    """Of the area of its entry; empty without one."""
    key: int
    """For `uniforms` and `normals` of `world/clock.py`: with the robot's object id and `event.count`."""

    @property
    def memory(self) -> dict[str, Any]:
        """What the kind has kept of the event."""
        return self.event.memory


@dataclass
class DisturbanceKind(Checked):
    """Base of all kinds: a dataclass whose fields, made with `setting`, are the keys of its entries.

    A kind that only changes robots overrides `effect`; one that does something overrides `begin` and `end`. What they
    change outside the columns they put back: `end` is called for each event that began, also before a robot is
    removed. One with `steps` gets all its active events in each step.
    """

    aim: ClassVar[Aim] = Aim.ROBOTS
    steps: ClassVar[bool] = False
    follows_area: ClassVar[bool] = False
    """Whether robots that come into the area of an entry with times are disturbed, until they leave it or it ends."""

    def check(self, sim: MultiRobotSimulationCore) -> None:
        """Raise InvalidValueError for what `sim` lacks, before the run."""

    def effect(self, event: Event) -> Effect:
        """Return what holds for the robot while it lasts."""
        return NO_EFFECT

    def begin(self, at: Disturbed) -> None:
        """Called when it begins for a target, before its effect is written."""

    def end(self, at: Disturbed) -> None:
        """Called when it has ended for a target; its effect is gone already."""

    def hold(self, at: Disturbed) -> None:
        """Change what no saved state holds: after `begin`, and for what is active in a state that is restored."""

    def withdraw(self, at: Disturbed) -> None:
        """Undo `hold`: called before `end`, and for what is active when another state is restored."""

    def step(self, all_of_it: Sequence[Disturbed], dt: float) -> None:
        """Called before robots move, in each step in which events of the entry are active, if it `steps`."""
