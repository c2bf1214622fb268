"""States on disk: a checkpoint written to a file, and taken in by a simulation of the same scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from operator import eq
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fleet_sim.arrays import AnyArray, Bools
from fleet_sim.config.params import SimulationParams
from fleet_sim.core.checkpoint import Checkpoint, Checkpoints
from fleet_sim.core.features import Features
from fleet_sim.core.pipeline import Pipeline
from fleet_sim.core.saving.archive import read_archive, write_archive
from fleet_sim.core.saving.checks import check_tables, check_world
from fleet_sim.core.saving.reading import ValueReader
from fleet_sim.core.saving.values import ValueWriter
from fleet_sim.core.world import World
from fleet_sim.entities.spawning import remove
from fleet_sim.errors import FleetSimError, StateFileError
from fleet_sim.facade.catalogs import catalogs_of, take_catalogs
from fleet_sim.facade.control import RunControl
from fleet_sim.facade.extensions import Extensions
from fleet_sim.facade.origin import Origin, live_settings, take_settings
from fleet_sim.facade.saved_forms import WorldForms
from fleet_sim.facade.state import State
from fleet_sim.facade.user_code import user_code
from fleet_sim.sensors.system import SensorSystem


class StateHost(Protocol):
    """A simulation as state files see it."""

    params: SimulationParams
    world: World
    pipeline: Pipeline
    checkpoints: Checkpoints
    state: State
    control: RunControl
    extensions: Extensions
    features: Features
    sensors: SensorSystem
    origin: Origin


class StateFiles:
    """Writes the state of one simulation to files, and takes it from files."""

    def __init__(self, sim: StateHost) -> None:
        self._sim = sim
        self._forms = WorldForms(sim.world)
        for form in self._forms.forms():
            sim.checkpoints.forms.add(form)

    # ---- writing -----------------------------------------------------------------------------------------------------

    def save(self, path: str | Path, *, user_code_too: bool = False) -> Checkpoint:
        """Write the present state to a file, whole or not at all, and return it; see `sim.save_state`."""
        self._sim.control.require_between_steps("save_state")
        if not user_code_too:
            self.check_code()
        # The scenario goes along, so that a file can be opened by itself.
        content = self._sim.origin.header()
        checkpoint = self._sim.checkpoints.take()
        writer = ValueWriter(self._sim.checkpoints.forms)
        content |= {
            "version": package_version(),
            "time": self._sim.world.clock.time,
            "hash": self._sim.state.hash(),
            "settings": live_settings(self._sim.params),
            "features": list(self._sim.features.used),
            "values": {name: writer.write(value, name) for name, value in self._pieces(checkpoint).items()},
        }
        write_archive(path, content, writer.arrays)
        return checkpoint

    def _pieces(self, checkpoint: Checkpoint) -> dict[str, Any]:
        """Return what is written, in the order in which it is read."""
        # Code of entities is the user's own: it was refused above, or is left out as asked for.
        rest = {
            key: value for key, value in checkpoint.world.items() if key not in ("tables", "names", "entity_events")
        }
        # Of the books of hooks only that of controllers can be written.
        books = [book if index == 2 else {} for index, book in enumerate(rest["hooks"]["books"])]
        return {
            "catalogs": catalogs_of(self._sim.world),
            "tables": checkpoint.world["tables"],
            "names": checkpoint.world["names"],
            "clock": checkpoint.clock,
            "world": {
                **rest,
                "handles": self._forms.classes(rest["handles"]),
                "hooks": {**rest["hooks"], "books": books},
            },
            "parts": checkpoint.parts,
        }

    def check_code(self) -> None:
        """Raise StateFileError naming code of the user's own, which a file cannot hold."""
        code = user_code(self._sim.world, self._sim.pipeline, self._sim.extensions)
        if code:
            shown = "; ".join(code[:8]) + (f"; and {len(code) - 8} more" if len(code) > 8 else "")
            raise StateFileError(
                f"this simulation runs code that a file cannot hold: {shown}. Remove it, or save with user_code=True "
                "and add it again before the state is loaded; plugins with state_of and take_state are in the file"
            )

    # ---- reading -----------------------------------------------------------------------------------------------------

    def begin(self, path: str | Path) -> None:
        """Go on from the state in a file in a simulation that was just built; `reset` goes back to how it was built."""
        if self._sim.params.keep_initial_state:
            self._sim.state.remember_initial()
        self.load(path)

    def load(self, path: str | Path) -> None:
        """Go on from the state in a file; see `sim.load_state`."""
        self._sim.control.require_between_steps("load_state")
        try:
            content, arrays = read_archive(path)
            check_version(content)
            self._sim.origin.check(content)
            with _as_written():
                saved = self._read(content, arrays)
            self._replace(content, saved)
        except FleetSimError as error:
            raise StateFileError(f"{path}: {error}") from error
        # For those to whom a state that comes from outside matters.
        self._sim.world.events.emit("state_loaded")

    def _read(self, content: Mapping[str, Any], arrays: list[AnyArray]) -> Checkpoint:
        """Return the state in a file, checked; the run of this simulation is not changed."""
        world, values = self._sim.world, content["values"]
        # Before the tables are read: features add theirs.
        for name in content["features"]:
            self._sim.features.use(name)
        reader = ValueReader(self._sim.checkpoints.forms, arrays)
        catalogs = reader.read(values["catalogs"])
        tables = reader.read(values["tables"])
        count = check_tables(world, tables)
        # Tables refer to shapes and models by number: these come first.
        take_catalogs(world, catalogs, tables)
        names = reader.read(values["names"])
        clock = reader.read(values["clock"])
        if count > world.capacity:
            world.grow(count)
        # Entities that are the same ones here keep their handles.
        self._forms.begin(self._kept_mask(tables["body"], names))
        saved = reader.read(values["world"])
        saved["handles"] = self._forms.of_classes(saved["handles"], tables["body"]["alive"])
        check_world(world, tables, names, saved, clock)
        parts = reader.read(values["parts"])
        self._sim.checkpoints.check_parts(parts)
        # What was read of the parts refers to entities, by handles that are from now on theirs.
        self._forms.put_made(saved["handles"], tables["body"]["generation"])
        whole = {"tables": tables, "names": names, "entity_events": {}, **saved}
        return self._sim.checkpoints.made(clock, whole, parts)

    def _replace(self, content: Mapping[str, Any], saved: Checkpoint) -> None:
        """Go on from `saved`, or stay where the simulation is where that fails."""
        before, settings = self._sim.checkpoints.take(), live_settings(self._sim.params)
        try:
            with _as_written():
                self._take_in(content, saved)
        except FleetSimError:
            # As if nobody had asked: a file that is refused changes nothing.
            take_settings(self._sim.params, settings)
            self._sim.state.restore(before)
            raise

    def _take_in(self, content: Mapping[str, Any], saved: Checkpoint) -> None:
        """Take over a state that was read; raises StateFileError unless it has the hash that it was written with."""
        world = self._sim.world
        take_settings(self._sim.params, content["settings"])
        # What is not in the file goes first, as its rows may be taken by others.
        remove(world, world.rows[~self._forms.kept_mask[world.rows]])
        self._sim.sensors.keep_only(saved.parts["sensors"])
        world.hooks.put_controllers(world.rows.tolist(), saved.world["hooks"])
        self._sim.state.restore(saved)
        # The last check: whatever was read must be the state that was written.
        if self._sim.state.hash() != content["hash"]:
            raise StateFileError("the state that was read has another hash than the one that was written")

    def _kept_mask(self, body: Mapping[str, AnyArray], names: list[Any]) -> Bools:
        """Return which rows hold the same entity here and in the file."""
        world, count = self._sim.world, len(body["alive"])
        kept = np.zeros(world.capacity, np.bool_)
        # The same row, generation, id, kind and name: then it is the same entity.
        kept[:count] = body["alive"] & world.alive[:count]
        for column in ("generation", "object_id", "kind"):
            kept[:count] &= body[column] == getattr(world, column)[:count]
        rows = np.flatnonzero(kept[:count]).tolist()
        kept[rows] = list(map(eq, map(names.__getitem__, rows), map(world.index.names.__getitem__, rows)))
        return kept


@contextmanager
def _as_written() -> Iterator[None]:
    """Raise StateFileError for whatever happens because a file says what no part of it would have written."""
    try:
        yield
    except FleetSimError:
        raise
    # No list of what may be raised is complete, and a file must not stop a simulation that was asked to read it.
    except Exception as error:
        raise StateFileError(f"not as it was written ({type(error).__name__}: {error})") from error


def package_version() -> str:
    """Return the version of this package; "" of a checkout that is not installed."""
    # Imported here because it takes 50 ms, and most runs read no states.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("fleet_sim")
    except PackageNotFoundError:
        return ""


def check_version(content: Mapping[str, Any]) -> None:
    """Raise StateFileError for a file of another version of this package: its parts may keep other things."""
    if content.get("version") != package_version():
        raise StateFileError(
            f"it was written by fleet_sim {content.get('version')}, and this is {package_version()}: "
            "go on with the version that wrote it"
        )


def scenario_of(path: str | Path) -> tuple[dict[str, Any], str]:
    """Return the scenario in a state file, and the file that it came from; raises StateFileError."""
    try:
        content, _ = read_archive(path)
        check_version(content)
        scenario, source = content.get("scenario"), content.get("source")
        if not isinstance(scenario, dict) or not isinstance(source, str):
            raise StateFileError("it has no scenario")
        return scenario, source
    except FleetSimError as error:
        raise StateFileError(f"{path}: {error}") from error
