"""LoadWorld: another scenario in place of the present one, in the same simulation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any, ClassVar

from fleet_sim.config.params import SimulationParams
from fleet_sim.config.scenario import check_entries, simulation_in, with_implied_settings
from fleet_sim.core.acknowledgement import CommandAck
from fleet_sim.core.commands import Command, Spawn, command
from fleet_sim.core.world import World
from fleet_sim.entities.entries import fill_scenario
from fleet_sim.entities.scenario_host import LoadableSimulation
from fleet_sim.entities.spawn_command import check_amount
from fleet_sim.gate.remote import remote_input
from fleet_sim.models import model_folders
from fleet_sim.paths import data_roots

LOOKS = ("gui", "monitor", "camera", "target_rtf")
"""Settings of a scenario that change no run: how it is watched, and how fast it goes."""


@command("load_world")
class LoadWorld(Command):
    """Clear the simulation and fill it with `scenario`, which is as in a file; `file` is the one it comes from.

    The settings of the simulation stay. `remote` scenarios came from another process: no dotted paths, and files from
    the folders of models and of shipped scenarios only. The event `world_loaded` follows.
    """

    between_steps: ClassVar[bool] = True

    scenario: Mapping[str, Any] = field(default_factory=dict)
    file: str = ""
    remote: bool = False

    @property
    def runs_code(self) -> bool:
        """Scenarios may have user-defined parts."""
        return True


def load_world(sim: LoadableSimulation, command: LoadWorld) -> CommandAck:
    """Carry out the command in the simulation `sim`; raises FleetSimError, and what was there stays then."""
    with _input_of(sim.world, command):
        try_world(sim, command.scenario, command.file)
        sim.clear()
        fill_scenario(sim, with_implied_settings(command.scenario, source=command.file), source=command.file)
    sim.events.emit("world_loaded")
    return CommandAck(command.command_id, command.source, sim.world.clock.time)


def try_world(sim: LoadableSimulation, scenario: Mapping[str, Any], source: str) -> None:
    """Raise FleetSimError where `sim` cannot be filled with `scenario`: it is built beside it and thrown away."""
    check_entries(scenario, source=source)
    # Looked at first: building a huge grid is already the work to be refused.
    check_amount(Spawn(robots=_entries(scenario, "robots"), objects=_entries(scenario, "objects")))
    params = SimulationParams.from_dict(with_implied_settings(scenario, source=source), source=source)
    params.gui = params.monitor = False
    params.model_paths = sim.params.model_paths
    with type(sim)(params) as trial:
        fill_scenario(trial, with_implied_settings(scenario, source=source), source=source)


def other_settings(params: SimulationParams, scenario: Mapping[str, Any], source: str) -> list[str]:
    """Return the settings of the simulation that `scenario` names with other values than those in use, `params`."""
    settings = with_implied_settings(scenario, source=source)
    wanted = SimulationParams.from_dict(settings, source=source)
    given = simulation_in(settings)
    return sorted(
        name
        for name in given
        if name not in LOOKS and hasattr(params, name) and getattr(wanted, name) != getattr(params, name)
    )


def world_folders(world: World) -> list[Path]:
    """Return the folders that hold what worlds from other processes may be made of."""
    return [*model_folders(world.model_paths), *(root / "config" for root in data_roots())]


@contextmanager
def _input_of(world: World, command: LoadWorld) -> Iterator[None]:
    if not command.remote:
        yield
        return
    with remote_input(world_folders(world)):
        yield


def _entries(scenario: Mapping[str, Any], section: str) -> tuple[Any, ...]:
    entries = scenario.get(section)
    return tuple(entries) if isinstance(entries, (list, tuple)) else ()
