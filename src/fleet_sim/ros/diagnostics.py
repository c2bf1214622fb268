"""/diagnostics: the load of the simulation."""

from __future__ import annotations

import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from fleet_sim.config.modes import ControllerMode
from fleet_sim.core.energy import energy_columns_with
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.ros import qos
from fleet_sim.ros.conversions import time_to_msg
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.roster import take_roster

SLOW = 0.95
"""Share of the target real-time factor below which the status is a warning."""


MOST_NAMED = 20
"""Faulty parts and reasons of refusals that are named, the most frequent first."""


class DiagnosticsTopic(Interface):
    """Publishes real-time factor, step time, late steps, entities, collisions, faults and rejected commands.

    With the setting `robot_diagnostics` each robot has a status, too: a warning where it stands before something or
    has an empty battery. What raised exceptions is named with their number, and what was switched off because of it.

    `late_steps` counts steps that began more than one step length later than `target_rtf` requires, `worst_delay_ms` is
    the longest such delay, both since the run began.
    """

    rate = "diagnostics"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publisher = bridge.robots.create_publisher(DiagnosticArray, "/diagnostics", qos.STATE)
        self._since: tuple[float, int] | None = None

    def publish(self, now: int) -> None:
        """Publish the state of the simulation and of each robot."""
        message = DiagnosticArray(status=[self._simulation(now), *self._robots()])
        message.header.stamp = time_to_msg(now)
        self._publisher.publish(message)

    def _simulation(self, now: int) -> DiagnosticStatus:
        """Return the state of the simulation; a warning where it falls behind real time or parts are switched off."""
        sim, wall = self.bridge.sim, time.perf_counter()
        since, self._since = self._since, (wall, now)
        wanted = sim.params.target_rtf
        # In published time, which does not jump back at a reset.
        # The first time there is nothing to compare with; a factor of 0 is no warning then.
        factor = (now - since[1]) * 1e-9 / (wall - since[0]) if since and wall > since[0] else 0.0
        # A target of 0 means as fast as possible, which cannot be missed.
        late = since is not None and 0.0 < factor < SLOW * wanted
        off = sim.guard.switched_off
        reasons = [f"falls behind: {factor:.2f} of {wanted:g} times real time"] * late
        reasons += [f"{off.total()} parts failed too often and are switched off"] * bool(off)
        return DiagnosticStatus(
            level=DiagnosticStatus.WARN if reasons else DiagnosticStatus.OK,
            name="fleet_sim: simulation",
            message="; ".join(reasons) or "running",
            hardware_id="fleet_sim",
            values=[
                _value("real_time_factor", f"{factor:.3f}"),
                _value("target_rtf", f"{wanted:g}"),
                _value("step_ms", f"{sim.pipeline.total * 1e3:.3f}"),
                # With the one that ends now, whose time is in the stamp.
                _value("steps", sim.step_count + sim.world.in_step),
                _value("late_steps", sim.pacer.late_steps),
                _value("worst_delay_ms", f"{sim.pacer.worst_delay * 1e3:.3f}"),
                _value("entities", len(sim.world)),
                _value("collisions", sim.collision_count),
                _value("faults", sim.guard.total),
                _value("goals_without_client", self.bridge.gateway.unattended_goals),
                _value("refused_commands", self.bridge.refusals.count),
                *(
                    _value(f"refused: {reason}", number)
                    for reason, number in self.bridge.gateway.refused.most_common(MOST_NAMED)
                ),
                *(_value(f"faults of {what}", number) for what, number in sim.guard.counts.most_common(MOST_NAMED)),
                *(_value(f"switched off: {what}", number) for what, number in off.most_common(MOST_NAMED)),
            ],
        )

    def _robots(self) -> list[DiagnosticStatus]:
        """Return a status of each robot, with its name as the hardware, where that is asked for."""
        if not self.bridge.params.robot_diagnostics:
            return []
        world = self.bridge.sim.world
        return [_robot(world, row) for row in take_roster(world).rows.tolist()]


def _robot(world: World, row: int) -> DiagnosticStatus:
    """Return the state of a robot; a warning with the reason where it is blocked or its battery is empty."""
    name, blocker = world.label(row), int(world.motion.blocked_by[row])
    action = world.actions.current(row)
    reason = f"stands before {world.label(blocker)}" if blocker != NO_ROW else ""
    battery = energy_columns_with(world, row)
    values = [
        _value("mode", ControllerMode.from_code(int(world.motion.control[row])).value),
        _value("action", "" if action is None else type(action).__name__),
        _value("speed", f"{float((world.velocity[row] ** 2).sum()) ** 0.5:.3f}"),
    ]
    if battery is not None:
        charge = float(battery.energy[row] / battery.full_energy[row])
        values.append(_value("battery", f"{charge:.3f}"))
        reason = reason or ("its battery is empty" if charge <= 0.0 else "")
    level = DiagnosticStatus.WARN if reason else DiagnosticStatus.OK
    return DiagnosticStatus(
        level=level, name=f"fleet_sim: {name}", message=reason or "ok", hardware_id=name, values=values
    )


def _value(key: str, value: object) -> KeyValue:
    return KeyValue(key=key, value=str(value))
