"""Saving and restoring state: checkpoints, and files of them; what a simulation was built from."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from functools import partial
from operator import eq
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.base.arrays import AnyArray, Bools, Ints
from fleet_sim.base.errors import FleetSimError, StateError, StateFileError, brief
from fleet_sim.base.files import data_roots, is_remote, remote_input, repeating
from fleet_sim.base.params import SimulationParams
from fleet_sim.base.registry import Registry
from fleet_sim.base.scenario import is_scenario
from fleet_sim.base.settings.fields import fields_of
from fleet_sim.base.settings.reader import plain
from fleet_sim.engines.bullet.handle import count_own
from fleet_sim.facade.run_control import Extensions, SimulationParts
from fleet_sim.models import model_folders
from fleet_sim.robots.actions.action import Action
from fleet_sim.robots.actions.registry import ACTIONS
from fleet_sim.robots.agent import Agent
from fleet_sim.robots.motion.goal_controllers import CONTROLLERS, AgentController
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.robots.spawning import SPAWNED, emit_spawned, remove
from fleet_sim.world import state_files
from fleet_sim.world.checkpoint import Checkpoint, check_range, check_tables, check_world, state_hash
from fleet_sim.world.clock import Clock
from fleet_sim.world.commands import BodyId, ObjectId
from fleet_sim.world.entity_index import Handle, handle_of
from fleet_sim.world.pipeline import Pipeline
from fleet_sim.world.shapes import BodyShape, RobotModel
from fleet_sim.world.user_code import GuardedPart, keeps_state
from fleet_sim.world.world import World, spawned_since

log = logging.getLogger(__name__)


class State:
    """The state of a simulation as a whole. Methods that change it raise StateError inside a step."""

    def __init__(self, sim: SimulationParts, origin: Origin) -> None:
        self._sim, self._world, self._checkpoints, self._control = sim, sim.world, sim.checkpoints, sim.control
        self._origin = origin
        self._initial: Checkpoint | None = None
        self.has_initial = False
        """Whether an initial state for `reset` was saved."""
        self._forms = WorldForms(sim.world)
        for form in self._forms.forms():
            sim.checkpoints.forms.add(form)

    @property
    def initial(self) -> Checkpoint | None:
        """The state that `reset` goes back to; None before it was saved."""
        return self._initial

    @initial.setter
    def initial(self, checkpoint: Checkpoint) -> None:
        self._checkpoints.check(checkpoint)
        self._initial, self.has_initial = checkpoint, True

    def remember_initial(self) -> None:
        """Save the present state as the initial state for `reset`; done automatically at the first step."""
        self._initial, self.has_initial = self._checkpoints.take(), True

    def save(self) -> Checkpoint:
        """Return a checkpoint of the present state: poses, motion, actions, random streams."""
        self._control.require_between_steps("save_state")
        return self._checkpoints.take()

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore a saved state of this simulation. Entities spawned since are removed, removed ones are restored.

        Callbacks, plugins, managers and event handlers stay as they are; restored entities have those that they had.
        Raises StateError inside a step and InvalidValueError for a checkpoint of another simulation.
        """
        self._control.require_between_steps("restore_state")
        self._checkpoints.check(checkpoint)
        world = self._world
        # The world would remove them too, but without events for users.
        remove(world, spawned_since(world, checkpoint.world))
        # To find those that live again: users are told of them as of new ones.
        living_mask = world.alive.copy()
        self._checkpoints.restore(checkpoint)
        if any(map(world.events.has_handlers, SPAWNED)):
            emit_spawned(world, world.handles.of(world.rows[~living_mask[world.rows]]))
        self._tell_reset("reset")

    def reset(self) -> None:
        """Restore the initial state: before the first step, with all its robots and their plans.

        Callbacks, plugins and event handlers are kept; random streams start again. See `clear` for an empty world.
        Raises StateError inside a step; `between_steps` calls it from there.
        """
        self._control.require_between_steps("reset")
        if self._initial is None:
            self.remember_initial()
        assert self._initial is not None
        self.restore(self._initial)

    def clear(self) -> None:
        """Remove every entity and go back to time 0, ids and random streams included, as in a new simulation.

        Callbacks, plugins, managers and event handlers of the simulation are kept.
        """
        self._control.require_between_steps("clear")
        world = self._world
        remove(world, world.rows)
        self._sim.sensors.clear()
        world.clock.restart()
        world.renew()
        self._sim.collisions.restart_count()
        self._initial, self.has_initial = None, False
        self._sim.engine.reset()
        self._tell_reset("cleared")

    def rebuild_engine(self) -> None:
        """Empty PyBullet's world and build it again from the columns, as at the start of a run.

        The engine's contact state is dropped, so that equal columns evolve equally, whatever happened before.
        Raises StateError inside a step.
        """
        self._control.require_between_steps("rebuild_engine")
        world, adopted = self._world, self._sim.mirror.bodies.table.adopted
        labels = [world.label(row) for row in world.rows[adopted[world.rows]].tolist()]
        if labels:
            shown = ", ".join(labels[:4]) + (", ..." if len(labels) > 4 else "")
            raise StateError(
                f"rebuild_engine: {shown} stand for PyBullet bodies made by you, which it would remove for good; "
                "remove those entities first"
            )
        bodies, constraints = count_own(self._sim.mirror)
        if bodies or constraints:
            log.warning(
                "rebuild_engine: what was made with PyBullet's own functions is gone (bodies: %d, constraints: %d); "
                "make it again: the bodies of entities may have other numbers now",
                bodies,
                constraints,
            )
        self._sim.engine.reset()

    def hash(self) -> str:
        """Return a hash of all state; it does not depend on the order of rows."""
        return state_hash(self._world)

    def _tell_reset(self, event: str) -> None:
        """Notify user code: plugins of entities, then plugins of the simulation, then event handlers."""
        self._sim.snapshots.refresh()
        self._world.guard.revive()
        self._world.hooks.reset()
        self._sim.extensions.reset()
        self._world.events.emit(event)

    # ---- files -------------------------------------------------------------------------------------------------------

    def write(self, path: str | Path, *, user_code_too: bool = False) -> Checkpoint:
        """Write the present state to a file, whole or not at all, and return it; see `sim.save_state`."""
        self._control.require_between_steps("save_state")
        if not user_code_too:
            self.check_code()
        # The scenario goes along, so that a file can be opened by itself.
        content = self._origin.header()
        checkpoint = self._checkpoints.take()
        writer = state_files.ValueWriter(self._checkpoints.forms)
        content |= {
            "version": package_version(),
            "time": self._world.clock.time,
            "hash": self.hash(),
            "settings": live_settings(self._sim.params),
            "features": list(self._sim.features.used),
            "values": {name: writer.write(value, name) for name, value in self._pieces(checkpoint).items()},
        }
        state_files.write_archive(path, content, writer.arrays)
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
            "catalogs": catalogs_of(self._world),
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
        code = user_code(self._world, self._sim.pipeline, self._sim.extensions)
        if code:
            shown = "; ".join(code[:8]) + (f"; and {len(code) - 8} more" if len(code) > 8 else "")
            raise StateFileError(
                f"this simulation runs code that a file cannot hold: {shown}. Remove it, or save with user_code=True "
                "and add it again before the state is loaded; plugins with state_of and take_state are in the file"
            )

    def begin(self, path: str | Path) -> None:
        """Go on from the state in a file in a simulation that was just built; `reset` goes back to how it was built."""
        if self._sim.params.keep_initial_state:
            self.remember_initial()
        self.load(path)

    def load(self, path: str | Path) -> None:
        """Go on from the state in a file that a simulation of the same scenario has written, maybe in another process.

        Entities that it does not have are removed, those that are missing are spawned; callbacks, plugins and event
        handlers stay. Raises StateFileError, and then nothing has changed, and StateError inside a step.
        """
        self._control.require_between_steps("load_state")
        try:
            content, arrays = state_files.read_archive(path)
            check_version(content)
            self._origin.check(content)
            with _as_written():
                saved = self._read(content, arrays)
            self._replace(content, saved)
        except FleetSimError as error:
            raise StateFileError(f"{path}: {error}") from error
        # For those to whom a state that comes from outside matters.
        self._world.events.emit("state_loaded")

    def _read(self, content: Mapping[str, Any], arrays: list[AnyArray]) -> Checkpoint:
        """Return the state in a file, checked; the run of this simulation is not changed."""
        world, values = self._world, content["values"]
        # Before the tables are read: features add theirs.
        for name in content["features"]:
            self._sim.features.use(name)
        reader = state_files.ValueReader(self._checkpoints.forms, arrays)
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
        self._checkpoints.check_parts(parts)
        # What was read of the parts refers to entities, by handles that are from now on theirs.
        self._forms.put_made(saved["handles"], tables["body"]["generation"])
        whole = {"tables": tables, "names": names, "entity_events": {}, **saved}
        return Checkpoint(world, clock, whole, parts)

    def _replace(self, content: Mapping[str, Any], saved: Checkpoint) -> None:
        """Go on from `saved`, or stay where the simulation is where that fails."""
        before, settings = self._checkpoints.take(), live_settings(self._sim.params)
        try:
            with _as_written():
                self._take_in(content, saved)
        except FleetSimError:
            # As if nobody had asked: a file that is refused changes nothing.
            take_settings(self._sim.params, settings)
            self.restore(before)
            raise

    def _take_in(self, content: Mapping[str, Any], saved: Checkpoint) -> None:
        """Take over a state that was read; raises StateFileError unless it has the hash that it was written with."""
        world = self._world
        take_settings(self._sim.params, content["settings"])
        # What is not in the file goes first, as its rows may be taken by others.
        remove(world, world.rows[~self._forms.kept_mask[world.rows]])
        self._sim.sensors.keep_only(saved.parts["sensors"])
        world.hooks.put_controllers(world.rows.tolist(), saved.world["hooks"])
        self.restore(saved)
        # The last check: whatever was read must be the state that was written.
        if self.hash() != content["hash"]:
            raise StateFileError("the state that was read has another hash than the one that was written")

    def _kept_mask(self, body: Mapping[str, AnyArray], names: list[Any]) -> Bools:
        """Return which rows hold the same entity here and in the file."""
        world, count = self._world, len(body["alive"])
        kept = np.zeros(world.capacity, np.bool_)
        # The same row, generation, id, kind and name: then it is the same entity.
        kept[:count] = body["alive"] & world.alive[:count]
        for column in ("generation", "object_id", "kind"):
            kept[:count] &= body[column] == getattr(world, column)[:count]
        rows = np.flatnonzero(kept[:count]).tolist()
        kept[rows] = list(map(eq, map(names.__getitem__, rows), map(world.index.names.__getitem__, rows)))
        return kept


# The catalogs of a world that columns refer to by number: shapes, robot models, motion laws.


Tables = dict[str, dict[str, AnyArray]]


def catalogs_of(world: World) -> dict[str, Any]:
    """Return what the numbers in columns stand for."""
    used = set(world.motion.law.tolist())
    return {
        "shapes": [world.shapes[number] for number in range(len(world.shapes))],
        "models": [state_files.attributes_of(model) for model in world.models],
        # Only those in use: others may not be known to the process that reads the file.
        "laws": [name if number in used else None for number, name in enumerate(world.laws.names())],
    }


def take_catalogs(world: World, catalogs: Any, tables: Tables) -> None:
    """Enter what a file's numbers stand for into the catalogs of `world`, and write their numbers here into `tables`.

    Raises StateFileError for a number that stands for nothing, and UnknownNameError for a law that is not known.
    """
    shapes = [world.shapes.intern(_shape(shape)) for shape in catalogs["shapes"]]
    _renumber(tables["body"], "shape_id", shapes)
    models = [_number_of(world, attributes) for attributes in catalogs["models"]]
    _renumber(tables["robots"], "model", models)
    names = list(world.laws.names())
    # The first law stands for none, and has no name to look up.
    numbers = [
        0 if name is None else names.index(name) if name in names else world.laws.index(name)
        for name in catalogs["laws"]
    ]
    _renumber(tables["motion"], "law", numbers)


def _shape(shape: Any) -> BodyShape:
    if not isinstance(shape, BodyShape):
        raise StateFileError(f"expected a shape, got {brief(shape)}")
    return shape


def _renumber(columns: dict[str, AnyArray], name: str, numbers: list[int]) -> None:
    column = columns[name]
    check_range(column, -1, max(len(numbers), 1), name)
    # The last entry is that of -1, which stands for none.
    of: Ints = np.array([*numbers, -1] if numbers else [0, -1], np.int64)
    columns[name] = of[column].astype(column.dtype)


def _number_of(world: World, attributes: Mapping[str, Any]) -> int:
    """Return the number of a model with `attributes` in the world, to which it is added if it is not there.

    Raises StateFileError where physics would use another description of the same file.
    """
    for number, known in enumerate(world.models):
        if _same(state_files.attributes_of(known), attributes):
            return number
    known_paths = {model.path for model in world.models}
    if attributes["path"] in known_paths and world.physics:
        raise StateFileError(f"{attributes['path']}: the robot description was changed since the state was saved")
    model = state_files.object_of(RobotModel, attributes)
    # Read-only, as the arrays of models that were read from a robot description are.
    for value in attributes.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    world.models.append(model)
    return len(world.models) - 1


def _same(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    return set(first) == set(second) and all(_equal(value, second[name]) for name, value in first.items())


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray):
        # Bit by bit: here nan is equal to nan.
        return isinstance(second, np.ndarray) and first.tobytes() == second.tobytes()
    return type(first) is type(second) and bool(first == second)


# The forms of what every simulation has in its checkpoints: entities, actions, controllers, models.


ENTITIES: dict[str, type[SimObject]] = {"Agent": Agent, "SimObject": SimObject}
"""Classes of entities in state files. Those of users have code that a file does not hold."""


class WorldForms:
    """How the entities of `world`, and what they do, are written and read."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.kept_mask: Bools = np.zeros(0, np.bool_)
        """Which rows hold the same entity in the file that is read and here."""
        self._made: dict[tuple[int, int], Handle] = {}

    def begin(self, kept_mask: Bools) -> None:
        """Begin to read a file."""
        self.kept_mask, self._made = kept_mask, {}

    def forms(self) -> Iterator[state_files.Form[Any]]:
        """Yield all forms."""
        yield state_files.Form("world", World, lambda world: None, lambda nothing: self._world)
        yield state_files.Form("clock", Clock, lambda clock: None, lambda nothing: self._world.clock)
        yield state_files.Form("entity", Handle, self._of_entity, self._entity)
        yield state_files.Form("model", RobotModel, self._of_model, lambda number: self._world.models[number])
        yield state_files.Form("object_id", ObjectId, int, ObjectId)
        yield state_files.Form("body_id", BodyId, _of_body_id, lambda saved: BodyId(*saved))
        name_of_action = lambda action: _name(ACTIONS, type(action), "register_action")  # noqa: E731
        yield state_files.Form("action", Action, name_of_action, partial(_blank, ACTIONS))
        name_of_controller = lambda made: _name(CONTROLLERS, type(made), "register_controller")  # noqa: E731
        yield state_files.Form("controller", AgentController, name_of_controller, partial(_blank, CONTROLLERS))
        yield state_files.Form("part", GuardedPart, GuardedPart.state_of, self._world.guard.part_of)

    # ---- entities ----------------------------------------------------------------------------------------------------

    def _of_entity(self, handle: Handle) -> object:
        name = list(ENTITIES)[_class_number(type(handle), handle) - 1]
        if handle.world is not self._world:
            raise StateFileError(f"{handle!r} is of another simulation")
        return name, *handle.place, None if handle.is_alive else getattr(handle, "last_label", "")

    def _entity(self, saved: tuple[str, int, int, str | None]) -> Handle:
        """Return the handle that `saved` stands for: the one there is if it is the same entity, else a new one."""
        name, row, generation, label = saved
        cls = ENTITIES.get(name)
        if cls is None or type(row) is not int or type(generation) is not int or not 0 <= row < len(self.kept_mask):
            raise StateFileError(f"{brief(saved)} is not an entity")
        known = self._world.handles[row] if self.kept_mask[row] else None
        # The same entity stays the same object: users hold it.
        if type(known) is cls and known.place == (row, generation):
            return known
        place = row, generation
        if place not in self._made:
            self._made[place] = handle_of(cls, self._world, row, generation, label)
        return self._made[place]

    def classes(self, handles: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a file holds of the handles in a checkpoint: the class of each row by its number, 0 for none."""
        unmade, classes = handles["unmade"], handles["classes"]
        numbers, names = np.zeros(len(unmade), np.uint8), list(ENTITIES)
        for number, cls in enumerate(classes, start=1):
            rows = np.flatnonzero(unmade == number)
            if len(rows):
                # A class of the user's own is refused by naming one of its entities.
                numbers[rows] = _class_number(cls, self._world.handles[int(rows[0])])
        for row, handle in enumerate(handles["made"]):
            if handle is not None:
                numbers[row] = _class_number(type(handle), handle)
        return {"numbers": numbers, "classes": names}

    def of_classes(self, saved: Any, alive: Bools) -> dict[str, Any]:
        """Return what `HandleTable.restore` takes, of what a file holds; raises StateFileError."""
        numbers, names = saved["numbers"], saved["classes"]
        if not isinstance(names, list) or not set(names) <= set(ENTITIES):
            raise StateFileError(f"classes of entities: expected {', '.join(ENTITIES)}, got {brief(names)}")
        if not isinstance(numbers, np.ndarray) or numbers.dtype != np.uint8 or numbers.shape != alive.shape:
            raise StateFileError("there is not one class of entities for each row")
        if ((numbers > 0) != alive).any() or int(numbers.max(initial=0)) > len(names):
            raise StateFileError("entities that live have one of the classes, and no others")
        return {"made": [], "unmade": numbers, "classes": [ENTITIES[name] for name in names]}

    def put_made(self, handles: dict[str, Any], generations: Ints) -> None:
        """Add to `of_classes` the handles that were made since for its entities, which have these `generations`."""
        handles["made"] = [None] * len(generations)
        for (row, number), handle in self._made.items():
            if generations[row] == number and handles["unmade"][row]:
                handles["made"][row], handles["unmade"][row] = handle, 0

    # ---- models ------------------------------------------------------------------------------------------------------

    def _of_model(self, model: RobotModel) -> object:
        return next(number for number, known in enumerate(self._world.models) if known is model)


def _class_number(cls: type[Any], handle: object) -> int:
    """Return the place, from 1 on, of the class of `handle` in ENTITIES; raises StateFileError."""
    for number, known in enumerate(ENTITIES.values(), start=1):
        if known is cls:
            return number
    raise StateFileError(f"{handle!r}: {state_files.refusal(handle).partition(';')[0]}: its code is your own")


# ---- what entities do ------------------------------------------------------------------------------------------------


def _name(registry: Registry[Any], cls: type[Any], advice: str) -> str:
    """Return the name that a class is registered by; raises StateFileError."""
    for name, known in registry.registered().items():
        if known is cls:
            return name
    raise StateFileError(
        f"the {registry.noun} {cls.__module__}.{cls.__qualname__} cannot be saved: it has no name by which another "
        f"process finds it; give it one with {advice}()"
    )


def _blank(registry: Registry[Any], name: str) -> Any:
    """Return an object of the class called `name` without its constructor: the scheduler gives it its attributes."""
    return object.__new__(registry.get(name))


def _of_body_id(body: BodyId) -> object:
    if body.object_id < 0:
        raise StateFileError(f"{body!r} is the number of a body of the engine, which is another one next time")
    return int(body), body.object_id


# Origin: what a simulation was built from, so that another process can build it again.


OUTWARD = frozenset(
    (
        *("target_rtf", "duration", "max_steps_per_frame", "max_sleep_frames", "gui", "gui_min_fps", "window_width"),
        *("window_height", "camera_config", "monitor", "enable_monitor_gui", "monitor_width", "monitor_height"),
        *("monitor_x", "monitor_y", "log_level", "enable_time_profiling", "profiling_interval", "enable_shadows"),
        *("enable_memory_profiling", "enable_collision_shapes", "enable_structure_transparency", "enable_gui_panel"),
    )
)
"""Settings of a simulation that change nothing in its run: a state may be loaded with others."""


@dataclass
class Origin:
    """The scenario that a simulation was built from, with its file; for one that was built in code, its settings."""

    scenario: Mapping[str, Any]
    source: str = ""
    remote: bool = False
    """Whether it came from another process: then it is so for whoever goes on from a state of it, too."""

    @classmethod
    def of(cls, params: SimulationParams) -> Origin:
        """Return the origin of a simulation that was built in code from `params`: a scenario without sections."""
        defaults = SimulationParams()
        values = {field.name: plain(getattr(params, field.name)) for field in fields(SimulationParams)}
        return cls({name: value for name, value in values.items() if value != plain(getattr(defaults, name))})

    def tell(self, scenario: Mapping[str, Any], source: str) -> None:
        """Note that the simulation was filled from `scenario`."""
        self.scenario, self.source, self.remote = scenario, source, is_remote()

    def header(self) -> dict[str, Any]:
        """Return the scenario for a file; raises StateFileError where it is no plain data."""
        return {
            "scenario": _plain(self.scenario, "scenario"),
            "source": self.source and str(Path(self.source).absolute()),
            **({"remote": True} if self.remote else {}),
        }

    def check(self, content: Mapping[str, Any]) -> None:
        """Raise StateFileError unless a file is of this scenario."""
        given, own = content.get("scenario"), self.header()["scenario"]
        if not isinstance(given, Mapping):
            raise StateFileError("it has no scenario")
        mine, other = _run_of(own), _run_of(given)
        names = sorted(name for name in {*mine, *other} if mine.get(name) != other.get(name))
        if names:
            shown, source = ", ".join(map(str, names[:8])), content.get("source") or "made in code"
            raise StateFileError(f"it is of another scenario ({source}), which differs in: {shown}")


def with_settings(scenario: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scenario with `settings` of its simulation in place of its own."""
    if not is_scenario(scenario):
        return {**scenario, **settings}
    return {**scenario, "simulation": {**(scenario.get("simulation") or {}), **settings}}


def live_settings(params: SimulationParams) -> dict[str, Any]:
    """Return the settings of a run that may be changed while it lasts, as they are."""
    names = [name for name, field in fields_of(SimulationParams).items() if field.rules.live and name not in OUTWARD]
    return {name: plain(getattr(params, name)) for name in names}


def take_settings(params: SimulationParams, saved: Mapping[str, Any]) -> None:
    """Set what `live_settings` returned; raises ConfigError for a value that is not allowed."""
    for name, value in live_settings(params).items():
        # Only what differs: some settings act when they are set.
        if name in saved and saved[name] != value:
            setattr(params, name, saved[name])


def _run_of(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Return sections and settings of a scenario that its run depends on, each by name."""
    if not is_scenario(scenario):
        scenario = {"simulation": scenario}
    settings = scenario.get("simulation") or {}
    rest = {name: section for name, section in scenario.items() if name != "simulation"}
    return rest | {f"simulation.{name}": value for name, value in settings.items() if name not in OUTWARD}


def _plain(value: Any, where: str) -> Any:
    """Return `value` as JSON has it."""
    if isinstance(value, Mapping):
        wrong = next((key for key in value if not isinstance(key, str)), None)
        if wrong is not None:
            raise StateFileError(f"{where}: the key {wrong!r} is not a text")
        return {key: _plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, Path):
        return str(value)
    # There and back, so that it compares equal to what is read from a file.
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError) as error:
        raise StateFileError(
            f"{where}: an object of {type(value).__qualname__} cannot be saved; write the scenario as in a file"
        ) from error


# Code of the user's own in a simulation, by name: state files hold none.


OWN = "fleet_sim"


def user_code(world: World, pipeline: Pipeline, extensions: Extensions) -> list[str]:
    """Return what of the user's own runs with a simulation and is in no file, each by kind and name."""
    return list(dict.fromkeys([*_of_simulation(pipeline, extensions), *_of_events(world), *_of_entities(world)]))


def _of_simulation(pipeline: Pipeline, extensions: Extensions) -> Iterator[str]:
    """Yield what users added to a simulation whose state a file would not have."""
    for function in extensions.callbacks:
        yield f"callback {name_of(function)}"
    for plugin in extensions.plugins:
        if not keeps_state(plugin) and not _is_ours(type(plugin)):
            yield f"plugin {name_of(type(plugin))}"
    for system in pipeline.systems:
        if not _is_ours(system.run):
            yield f"system {system.name} ({name_of(system.run)})"
    for name, manager in extensions.managers.items():
        if not _is_ours(type(manager)) or getattr(manager, "has_callbacks", False):
            yield f"manager {name}"


def _of_events(world: World) -> Iterator[str]:
    for event, handler in [*world.events.handlers, *world.entity_events.handlers]:
        if not _is_ours(handler):
            yield f"handler {name_of(handler)} of event {event!r}"


def _of_entities(world: World) -> Iterator[str]:
    for what, thing in world.hooks.code:
        yield f"{what} {name_of(thing)}"


def name_of(thing: Callable[..., object] | type[Any]) -> str:
    """Return module and name of a function or class, as its author wrote them."""
    plain = _unwrapped(thing)
    return f"{getattr(plain, '__module__', '?')}.{getattr(plain, '__qualname__', type(plain).__qualname__)}"


def _is_ours(thing: object) -> bool:
    module = str(getattr(_unwrapped(thing), "__module__", ""))
    return module == OWN or module.startswith(f"{OWN}.")


def _unwrapped(thing: object) -> object:
    """Return the function within wrappers and bound methods."""
    while isinstance(thing, partial) or hasattr(thing, "__wrapped__"):
        thing = thing.func if isinstance(thing, partial) else thing.__wrapped__
    owner = getattr(thing, "__self__", None)
    # A method that a user's class inherits is the user's code as well.
    if owner is not None and not isinstance(owner, type):
        return type(owner)
    return getattr(thing, "__func__", thing)


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


@contextmanager
def scenario_of(path: str | Path, model_paths: Sequence[str | Path] = ()) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the scenario in a state file, and the file that it came from, to be built inside; raises StateFileError.

    One that another process had sent is built as it was then: it reads below the folders of models, `model_paths`
    among them, and of shipped scenarios, and what it writes is thrown away.
    """
    scenario, source, remote = _scenario_in(path)
    with ExitStack() as stack:
        if remote:
            folders = [*model_folders(model_paths), *(root / "config" for root in data_roots())]
            stack.enter_context(remote_input(folders, output="/"))
            stack.enter_context(repeating())
        yield scenario, source


def _scenario_in(path: str | Path) -> tuple[dict[str, Any], str, bool]:
    try:
        content, _ = state_files.read_archive(path)
        check_version(content)
        scenario, source, remote = content.get("scenario"), content.get("source"), content.get("remote", False)
        if not isinstance(scenario, dict) or not isinstance(source, str) or not isinstance(remote, bool):
            raise StateFileError("it has no scenario")
        return scenario, source, remote
    except FleetSimError as error:
        raise StateFileError(f"{path}: {error}") from error
