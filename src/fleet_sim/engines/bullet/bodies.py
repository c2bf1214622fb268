"""PyBullet bodies of rows: created in bulk, found by row or by body id, and removed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import product, repeat

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.spatial import quaternions
from fleet_sim.engines.bullet.client import NO_BODY, BulletClient
from fleet_sim.engines.bullet.models import BulletJoints, LoadedModel, inertial_frame, load_model
from fleet_sim.engines.bullet.shapes import ShapeCache, ShapeColor, shape_colors
from fleet_sim.world.collision_rules import LinkPairs
from fleet_sim.world.columns import ColumnTable, column
from fleet_sim.world.schema import UNIT_QUATERNION
from fleet_sim.world.shapes import BodyShape
from fleet_sim.world.world import World

# Colors given at run time, as PyBullet's view shows them.


class BodyColors:
    """Writes the colors of `World.look` to bodies, and knows the colors that the bodies were made with."""

    def __init__(self, world: World, client: BulletClient, bodies: Callable[[], tuple[Ints, Ints]]) -> None:
        """`bodies` returns the columns of body ids and of when they were made."""
        self._world = world
        self._client = client
        self._bodies = bodies
        self._own: dict[int, tuple[int, list[ShapeColor]]] = {}
        """Of painted rows: when the body was made, and its shapes with the colors they had then."""

    def refresh(self, rows: Rows) -> None:
        """Write the changed colors of `rows`, which must have bodies that can be seen."""
        look = self._world.look
        changed = rows[look.behind[rows]]
        if not len(changed):
            return
        look.behind[changed] = False
        # Most bodies never get another color than that of their shape.
        for row in changed[look.painted_mask(changed) | np.isin(changed, list(self._own))].tolist():
            self._paint(row)

    def _paint(self, row: int) -> None:
        bodies, made = self._bodies()
        body, shapes = int(bodies[row]), self._shapes(row, int(bodies[row]), int(made[row]))
        links = np.array([link for link, _, _ in shapes], np.int64)
        given = self._world.look.colors(np.full(len(shapes), row), links).tolist()
        for (link, number, own), color in zip(shapes, given, strict=True):
            shown = own if color[0] < 0.0 else color
            self._client.changeVisualShape(body, link, shapeIndex=number, rgbaColor=shown)

    def _shapes(self, row: int, body: int, made: int) -> list[ShapeColor]:
        """Return the visual shapes of `body` with their own colors."""
        known = self._own.get(row)
        if known is not None and known[0] == made:
            return known[1]
        shapes = shape_colors(self._client, body)
        self._own[row] = (made, shapes)
        return shapes


_EMPTY = BodyShape()

MATERIAL = {
    "friction": "lateralFriction",
    "rolling_friction": "rollingFriction",
    "restitution": "restitution",
    "linear_damping": "linearDamping",
    "angular_damping": "angularDamping",
}
"""Columns of materials, and their names in changeDynamics."""


class BulletColumns(ColumnTable):
    """The PyBullet body of each row. Not part of the state: bodies can be created again from the other columns."""

    transient = True
    on_demand = True

    body: Ints = column(np.int64, default=NO_BODY, writer="bodies", doc="PyBullet body id, -1: none", hashed=False)
    adopted: Bools = column(bool, writer="bodies", doc="made by the user", hashed=False)
    owner: Ints = column(np.int64, default=-1, writer="bodies", doc="object_id the body was made for", hashed=False)
    made: Ints = column(np.int64, writer="bodies", doc="BulletBodies.version when it was made", hashed=False)
    mass: Floats = column(float, unit="kg", writer="bodies", doc="as PyBullet has it, 0: kinematic", hashed=False)
    told: Bools = column(bool, writer="mirror", doc="its id was given to the user", hashed=False)
    model: Bools = column(bool, writer="bodies", doc="loaded from a model file", hashed=False)
    offset: Bools = column(bool, writer="bodies", doc="centre of mass is not the base frame", hashed=False)
    com_position: Floats = column(float, (3,), unit="m", frame="base", writer="bodies", hashed=False)
    com_orientation: Floats = column(float, (4,), default=UNIT_QUATERNION, frame="base", writer="bodies", hashed=False)


class BulletBodies:
    """The bodies of one world in one client, by row.

    Poses are those of the base frame, which is the link frame of a model's base. PyBullet uses the pose of the centre
    of mass instead; where it differs, poses are converted here, so that columns always hold base poses.
    """

    def __init__(
        self, world: World, client: BulletClient, *, visuals: bool = True, inertia_from_file: bool = False
    ) -> None:
        """Bind to a world and a client; `visuals=False` makes bodies that cannot be seen, in less time and memory.

        With `inertia_from_file` inertias are those of URDF files, and not what the engine makes of masses and shapes.
        """
        self.world = world
        self.client = client
        self.visuals = visuals
        self.inertia_from_file = inertia_from_file
        self.table = world.add_table("bullet", BulletColumns)
        self.shapes = ShapeCache(client)
        self.joints = BulletJoints(world, client, lambda: self.table.body)
        self.colors = BodyColors(world, client, lambda: (self.table.body, self.table.made))
        self.count = 0
        """Number of rows with a body."""
        self.version = 0
        """Increases whenever a body is made or removed, or its mass is changed."""
        self.met = False
        """Whether the engine may have searched for contacts since it was created or emptied."""
        self.with_offset = 0
        """Number of bodies whose centre of mass is not their base frame."""
        # An array by body id, as the engine's contacts and segments come as arrays of ids.
        self._row_of_body: Ints = np.full(64, -1, np.int64)
        self._gaps = 0
        """Number of ids of removed bodies, which PyBullet reuses before it assigns new ones."""
        self.removed = 0
        """Number of bodies removed since the engine was created or emptied: PyBullet keeps 0.8 kB of each."""

    # ---- look up -----------------------------------------------------------------------------------------------------

    def missing(self, rows: Rows) -> Rows:
        """Return the `rows` without a body."""
        return rows[self.table.body[rows] == NO_BODY]

    def rows_of_bodies(self, bodies: Ints | Iterable[int]) -> Rows:
        """Return the rows (any shape) of `bodies`, -1 for bodies of no row (the floor)."""
        ids = bodies if isinstance(bodies, np.ndarray) else np.array(list(bodies), np.int64)
        known_mask = (ids >= 0) & (ids < len(self._row_of_body))
        return np.where(known_mask, self._row_of_body[np.where(known_mask, ids, 0)], -1)

    # ---- making ------------------------------------------------------------------------------------------------------

    def create(self, rows: Rows, positions: Floats, orientations: Floats) -> None:
        """Make a body for each of `rows`, which must have none, at base poses (N, 3), (N, 4).

        Equal bodies are made in one call. Raises InvalidValueError for a mesh or model file that cannot be used; some
        rows with other shapes may then have their bodies already.
        """
        if not len(rows):
            return
        world = self.world
        self.client.connect()
        # To PyBullet a mass of 0 means that only we move the body.
        masses = np.where(world.dynamic[rows], world.mass[rows], 0.0)
        with self.client.quiet():
            for members in _groups(world.shape_id[rows], masses):
                self._create_equal(rows[members], float(masses[members[0]]), positions[members], orientations[members])

    def _create_equal(self, rows: Rows, mass: float, positions: Floats, orientations: Floats) -> None:
        """Create the bodies of `rows` (N,), which have one shape and one `mass` in kg, at poses (N, 3) and (N, 4)."""
        shape_id = int(self.world.shape_id[rows[0]])
        shape = self.world.shapes[shape_id] if shape_id >= 0 else _EMPTY
        if shape.model_path:
            for row, position, orientation in zip(rows, positions, orientations, strict=True):
                loaded = load_model(
                    self.client,
                    shape,
                    mass,
                    position,
                    orientation,
                    visuals=self.visuals,
                    inertia_from_file=self.inertia_from_file,
                    self_collision=bool(self.world.robots.self_collision[row]),
                    model=self.world.model_of(int(row)),
                )
                self._gaps = max(0, self._gaps - 1)
                self._enter(np.array([row]), [loaded.body], mass)
                self._note_model(int(row), loaded)
                if self.world.robots.model[row] >= 0:
                    self.joints.prepare(int(row))
        else:
            self._enter(rows, self._create_plain(shape, mass, positions, orientations), mass)
        if mass > 0.0:
            self._write_velocities(rows)
        self.refresh_materials(rows)
        self.refresh_colors(rows)

    def _create_plain(self, shape: BodyShape, mass: float, positions: Floats, orientations: Floats) -> list[int]:
        """Return new bodies, made in one call except those that reuse ids of removed bodies."""
        collision = self.shapes.collision(shape.collision)
        visual = self.shapes.visual(shape.visual if self.visuals else None)
        make = partial(self.client.createMultiBody, mass, collision, visual)
        count = len(positions)
        places, turns = positions.tolist(), orientations.tolist()
        # A batch reports wrong ids while ids of removed bodies are free, so those gaps are filled one by one first.
        alone = count if count == 1 else min(count, self._gaps)
        bodies = [int(make(place, turn)) for place, turn in zip(places[:alone], turns[:alone], strict=True)]
        self._gaps -= min(alone, self._gaps)
        if alone < count:
            batch = list(make(batchPositions=places[alone:]))
            self.client.note_batch()
            bodies += self._verified(batch, places[alone:])
        reset = self.client.resetBasePositionAndOrientation
        # batchPositions has no orientations: bodies that are turned are set afterwards.
        turned = np.flatnonzero((orientations[alone:] != UNIT_QUATERNION).any(1)) + alone
        for index in turned.tolist():
            reset(bodies[index], places[index], turns[index])
        return bodies

    def _verified(self, bodies: list[int], places: list[list[float]]) -> list[int]:
        """Return the correct ids of a batch of bodies made at `places`.

        PyBullet reports a batch as consecutive ids ending with the last one. This is wrong if ids of removed bodies
        were free, as it uses these first. Gaps of our own removals are filled before a batch, but a user may have
        removed bodies too.
        """
        wrong = [
            index for index, (body, place) in enumerate(zip(bodies, places, strict=True)) if self._place(body) != place
        ]
        if wrong:
            known = set(bodies) | {self.client.floor_id}
            others = [body for body in range(bodies[-1]) if body not in known and self.rows_of_bodies([body])[0] < 0]
            for index in wrong:
                bodies[index] = next(body for body in others if self._place(body) == places[index])
                others.remove(bodies[index])
        return bodies

    def exists(self, body: int) -> bool:
        """Return whether PyBullet has a body with this number."""
        # PyBullet takes a C int; for a larger number Python raises before PyBullet can say that it is unknown.
        return 0 <= body < 2**31 and self._place(body) is not None

    def _place(self, body: int) -> list[float] | None:
        """Return the position of `body`, or None if there is no such body."""
        try:
            return list(self.client.getBasePositionAndOrientation(body)[0])
        except self.client.module.error:
            return None

    def _enter(self, rows: Rows, bodies: list[int], mass: float) -> None:
        """Note that `rows` (N,) have these PyBullet ids from now on; what is cached of other bodies is void."""
        self.version += 1
        table = self.table
        table.use()
        table.clear_rows(rows)
        table.body[rows] = bodies
        table.owner[rows] = self.world.object_id[rows]
        table.made[rows] = self.version
        for told in (self.world.material, self.world.look):
            if told.in_use:
                told.behind[rows] = True
        table.mass[rows] = mass
        highest = max(bodies)
        if highest >= len(self._row_of_body):
            grown = np.full(max(2 * len(self._row_of_body), highest + 1), -1, np.int64)
            grown[: len(self._row_of_body)] = self._row_of_body
            self._row_of_body = grown
        self._row_of_body[bodies] = rows
        self.count += len(rows)

    def _note_model(self, row: int, loaded: LoadedModel) -> None:
        table = self.table
        table.model[row] = True
        table.com_position[row] = loaded.com_position
        table.com_orientation[row] = loaded.com_orientation
        if loaded.has_offset:
            table.offset[row] = True
            self.with_offset += 1

    def adopt(self, row: int, body: int) -> None:
        """Make `body`, created by the user in this client, the body of `row`; its pose is copied to the columns.

        Raises InvalidValueError for an unknown body or one in use.
        """
        client = self.client
        if not self.exists(body):
            raise InvalidValueError(f"there is no PyBullet body {body!r} in this simulation's world")
        known = int(self.rows_of_bodies([body])[0])
        if known >= 0:
            raise InvalidValueError(f"PyBullet body {body} already belongs to {self.world.label(known)!r}")
        self.remove(np.array([row]))
        self._enter(np.array([row]), [body], float(client.getDynamicsInfo(body, -1)[0]))
        self.table.adopted[row] = True
        self._note_model(row, LoadedModel(body, *inertial_frame(client, body)))
        position, orientation = self.read_poses(np.array([row]))
        self.world.position[row] = position[0]
        self.world.orientation[row] = orientation[0]

    def refresh_masses(self, rows: Rows) -> None:
        """Update the masses of bodies of `rows` that became dynamic or kinematic."""
        table, world = self.table, self.world
        masses = np.where(world.dynamic[rows], world.mass[rows], 0.0)
        # Without physics the masses of the user's own bodies are the user's.
        ours_mask = ~table.adopted[rows] | world.physics
        changed_mask = (table.mass[rows] != masses) & (table.body[rows] != NO_BODY) & ours_mask
        if not changed_mask.any():
            return
        changed = rows[changed_mask]
        models = changed[table.model[changed] & ~table.adopted[changed]]
        # PyBullet cannot change whether a model's base is fixed, so the model is loaded again.
        self.remove(models)
        self.create(models, world.position[models], world.orientation[models])
        self.joints.write(models, world.joints.position)
        plain = changed[~np.isin(changed, models)]
        plain_masses = np.where(world.dynamic[plain], world.mass[plain], 0.0)
        for body, mass in zip(table.body[plain].tolist(), plain_masses.tolist(), strict=True):
            self.client.changeDynamics(body, -1, mass=mass)
            # A kinematic body goes on at the velocity it has in the engine; a dynamic one gets its own with its pose.
            self.client.resetBaseVelocity(body, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        self.version += len(plain) > 0
        table.mass[plain] = plain_masses
        world.bullet_behind[plain] = True

    def refresh_materials(self, rows: Rows) -> None:
        """Write changed materials of `rows`, which must have bodies, to all links; negative values are PyBullet's."""
        material, client = self.world.material, self.client
        changed = rows[material.behind[rows]]
        if not len(changed):
            return
        material.behind[changed] = False
        values = np.stack([getattr(material, name)[changed] for name in MATERIAL], axis=1)
        for index in np.flatnonzero((values >= 0.0).any(axis=1)).tolist():
            row, body = int(changed[index]), int(self.table.body[changed[index]])
            given = zip(MATERIAL.values(), values[index].tolist(), strict=True)
            options = {option: value for option, value in given if value >= 0.0}
            for link in range(-1, client.getNumJoints(body) if self.table.model[row] else 0):
                client.changeDynamics(body, link, **options)

    def refresh_colors(self, rows: Rows) -> None:
        """Write changed colors of `rows`, which must have bodies, to PyBullet."""
        if self.visuals:
            self.colors.refresh(rows)

    # ---- removing ----------------------------------------------------------------------------------------------------

    def remove(self, rows: Rows) -> None:
        """Remove the bodies of `rows`, also those that the user made; the floor stays."""
        table = self.table
        rows = rows[table.body[rows] != NO_BODY]
        if not len(rows):
            return
        bodies = table.body[rows].tolist()
        if self.client.floor_id in bodies:
            bodies.remove(self.client.floor_id)
        with self.client.quiet():
            deque(map(self.client.removeBody, bodies), maxlen=0)
        self._gaps += len(bodies)
        self.removed += len(bodies)
        self._forget(rows)

    def forget_all(self) -> None:
        """Forget all bodies, after the client's world was emptied."""
        self.met = False
        self._forget(np.flatnonzero(self.table.body != NO_BODY))
        self._gaps = self.removed = 0

    def _forget(self, rows: Rows) -> None:
        self.version += len(rows) > 0
        self._row_of_body[self.table.body[rows]] = -1
        self.count -= len(rows)
        self.with_offset -= int(self.table.offset[rows].sum())
        self.table.clear_rows(rows)

    # ---- poses -------------------------------------------------------------------------------------------------------

    def write_poses(self, rows: Rows, positions: Floats, orientations: Floats) -> None:
        """Write base poses (N, 3), (N, 4) to the bodies of `rows`; dynamic ones also get the columns' velocities."""
        table, client = self.table, self.client
        if self.with_offset:
            positions, orientations = self._to_com(rows, positions, orientations)
        # The hottest loop of the package. Fastest is map over plain lists with the client as positional argument.
        reset = client.module.resetBasePositionAndOrientation
        bodies = table.body[rows].tolist()
        deque(map(reset, bodies, positions.tolist(), orientations.tolist(), repeat(client.id)), maxlen=0)
        if table.mass[rows].any():
            self._write_velocities(rows[table.mass[rows] > 0.0])

    def _write_velocities(self, rows: Rows) -> None:
        self.set_velocities(rows, self.world.velocity[rows], self.world.angular_velocity[rows])

    def set_velocities(self, rows: Rows, linear: Floats, angular: Floats, orientations: Floats | None = None) -> None:
        """Set the velocities of the base frames of `rows`, m/s and rad/s: the counterpart of `read_velocities`."""
        if self.with_offset:
            turns = self.world.orientation[rows] if orientations is None else orientations
            # PyBullet's velocity is that of the centre of mass, which circles around the base frame of the columns.
            linear = linear + np.cross(angular, quaternions.rotate(turns, self.table.com_position[rows]))
        bodies = self.table.body[rows].tolist()
        reset = self.client.module.resetBaseVelocity
        deque(map(reset, bodies, linear.tolist(), angular.tolist(), repeat(self.client.id)), maxlen=0)

    def read_poses(self, rows: Rows) -> tuple[Floats, Floats]:
        """Return the base poses (N, 3), (N, 4) of `rows` in PyBullet; they must have bodies."""
        client = self.client
        read = client.module.getBasePositionAndOrientation
        poses = list(map(read, self.table.body[rows].tolist(), repeat(client.id)))
        positions = np.array([pose[0] for pose in poses], np.float64).reshape(-1, 3)
        orientations = np.array([pose[1] for pose in poses], np.float64).reshape(-1, 4)
        if self.with_offset:
            positions, orientations = self._from_com(rows, positions, orientations)
        return positions, orientations

    def read_velocities(self, rows: Rows, orientations: Floats | None = None) -> tuple[Floats, Floats]:
        """Return linear and angular velocities (N, 3) of the base frames of `rows`, world frame.

        Their orientations are those of the columns, or `orientations` (N, 4).
        """
        client = self.client
        twists = list(map(client.module.getBaseVelocity, self.table.body[rows].tolist(), repeat(client.id)))
        linear = np.array([twist[0] for twist in twists], np.float64).reshape(-1, 3)
        angular = np.array([twist[1] for twist in twists], np.float64).reshape(-1, 3)
        if self.with_offset:
            turns = self.world.orientation[rows] if orientations is None else orientations
            linear = linear - np.cross(angular, quaternions.rotate(turns, self.table.com_position[rows]))
        return linear, angular

    def _to_com(self, rows: Rows, positions: Floats, orientations: Floats) -> tuple[Floats, Floats]:
        table = self.table
        chosen = np.flatnonzero(table.offset[rows])
        positions, orientations = positions.copy(), orientations.copy()
        at, turned = rows[chosen], orientations[chosen]
        positions[chosen] += quaternions.rotate(turned, table.com_position[at])
        orientations[chosen] = quaternions.multiply(turned, table.com_orientation[at])
        return positions, orientations

    def _from_com(self, rows: Rows, positions: Floats, orientations: Floats) -> tuple[Floats, Floats]:
        table = self.table
        chosen = np.flatnonzero(table.offset[rows])
        at = rows[chosen]
        turned = quaternions.multiply(orientations[chosen], quaternions.conjugate(table.com_orientation[at]))
        orientations[chosen] = turned
        positions[chosen] -= quaternions.rotate(turned, table.com_position[at])
        return positions, orientations


def _groups(shape_ids: Ints, masses: Floats) -> Iterator[Ints]:
    """Yield the indices of equal (shape, mass), groups in order of their first index, indices in ascending order."""
    # Body ids follow the order of making, and the engine's order of contacts follows ids: so groups go by rows.
    order = np.lexsort((masses, shape_ids))
    differs = (np.diff(shape_ids[order]) != 0) | (np.diff(masses[order]) != 0.0)
    groups = np.split(order, np.flatnonzero(differs) + 1)
    yield from sorted(groups, key=lambda members: int(members[0]))


# Collision filters of the engine: its groups and masks, and pairs of bodies that must or must not collide.


_UNWRITTEN = -2
"""In place of a group: the body has the one that the engine gave it."""
_MATCH_BOTH_WAYS = 0
"""Value of `collisionFilterMode`: each must be in a group of the other's mask. The engine begins with either."""


class FilterColumns(ColumnTable):
    """The group and mask last written to the body of each row, and which body that was."""

    transient = True
    on_demand = True

    group: Ints = column(np.int64, default=_UNWRITTEN, writer="filters", hashed=False)
    mask: Ints = column(np.int64, writer="filters", hashed=False)
    made: Ints = column(np.int64, default=-1, writer="filters", doc="of the body", hashed=False)
    linked: Ints = column(np.int64, default=-1, writer="filters", doc="as `made`, of links", hashed=False)
    dynamic: Bools = column(bool, writer="filters", doc="had a mass", hashed=False)


_Pair = tuple[int, int]


class EngineFilters:
    """Lets the engine's bodies collide as `World.collision_rules` say.

    Without it a dynamic robot is pushed away violently by the object it carries, which is kinematic while carried.
    """

    def __init__(self, bodies: BulletBodies, exempt_links: LinkPairs) -> None:
        """`exempt_links` returns the pairs of links of a row that do not push each other."""
        self._bodies = bodies
        self._exempt_links = exempt_links
        self._world = bodies.world
        self._table = bodies.world.add_table("bullet_filters", FilterColumns)
        self._epoch = bodies.client.epoch
        self._written = False
        self._grouped = False
        self._seen: tuple[int, int, int] | None = None
        self._exempt = np.empty((0, 2), np.int64)
        # By body ids: the engine keeps a filter for the ids of removed bodies, which it reuses, and cannot forget it.
        self._pairs: dict[_Pair, tuple[tuple[int, int], bool]] = {}
        """When each body of a pair was made, and whether the two collide, as last written."""

    def refresh(self) -> None:
        """Update the engine's filters to the rules; rows without bodies are skipped."""
        world, rules = self._world, self._world.collision_rules
        exempt = rules.exempt_pairs()
        seen = rules.version, world.version, self._bodies.version
        if self._epoch == self._bodies.client.epoch and seen == self._seen and np.array_equal(exempt, self._exempt):
            return
        self._forget_epochs()
        self._seen, self._exempt = seen, exempt
        # Groups first: what is written for a pair counts in their place.
        self._refresh_groups()
        self._refresh_links()
        self._refresh_pairs(np.concatenate((exempt, world.collision_filters.enabled_pairs())))

    def renumber(self) -> None:
        """Restore the engine's order of bodies: by their ids.

        The engine solves contacts in the order in which bodies entered its broad phase, and writing a filter makes both
        bodies enter it again. Does nothing if no filter was written.
        """
        self._forget_epochs()
        if not self._written:
            return
        client = self._bodies.client
        for body in sorted(client.getBodyUniqueId(index) for index in range(client.getNumBodies())):
            # A filter of a body with itself has no effect but makes the body enter the broad phase again.
            client.setCollisionFilterPair(body, body, -1, -1, 1)

    def _forget_epochs(self) -> None:
        """Forget all filters if the client's world was emptied, as its filters are gone with its bodies."""
        if self._epoch != self._bodies.client.epoch:
            self._epoch, self._seen, self._pairs = self._bodies.client.epoch, None, {}
            self._written = self._grouped = False
            self._table.clear_rows(np.arange(self._table.capacity))

    # ---- groups ------------------------------------------------------------------------------------------------------

    def _refresh_groups(self) -> None:
        """Write the groups and masks of bodies; disabled ones are in none, so that they meet nothing but the floor."""
        world, table, bodies = self._world, self._table, self._bodies.table
        rows = world.rows[bodies.body[world.rows] != NO_BODY]
        disabled_mask = ~world.collision_rules.active_mask()[rows]
        grouped = world.collision_filters.grouped
        if not (self._written or grouped or disabled_mask.any()):
            return
        table.use()
        groups = np.where(disabled_mask, 0, world.collision_group[rows])
        masks = np.where(disabled_mask, 0, world.collision_mask[rows])
        dynamic = bodies.mass[rows] > 0.0
        # A body that was made again, or got or lost its mass, has the engine's group again.
        anew_mask = (table.made[rows] != bodies.made[rows]) | (table.dynamic[rows] != dynamic)
        table.group[rows[anew_mask]] = _UNWRITTEN
        table.made[rows], table.dynamic[rows] = bodies.made[rows], dynamic
        if grouped and not self._grouped:
            self._bodies.client.set_engine_parameters({"collisionFilterMode": _MATCH_BOTH_WAYS})
        self._grouped = self._grouped or grouped
        changed_mask = (table.group[rows] != groups) | (table.mask[rows] != masks)
        # While all have the same group, that of the engine does: only those that were disabled differ.
        changed_mask &= self._grouped | disabled_mask | (table.group[rows] != _UNWRITTEN)
        for row, group, mask in zip(*(a[changed_mask].tolist() for a in (rows, groups, masks)), strict=True):
            self._write_group(row, group, mask)
        table.group[rows[changed_mask]], table.mask[rows[changed_mask]] = groups[changed_mask], masks[changed_mask]

    def _write_group(self, row: int, group: int, mask: int) -> None:
        self._written = True
        client, body = self._bodies.client, int(self._bodies.table.body[row])
        for link in range(-1, client.getNumJoints(body)):
            client.setCollisionFilterGroupMask(body, link, group, mask)
            if client.floor_id != NO_BODY and self._world.dynamic[row]:
                # The floor is in the engine's group of static bodies, whose number means nothing to users.
                client.setCollisionFilterPair(client.floor_id, body, -1, link, 1)

    # ---- links of one robot ------------------------------------------------------------------------------------------

    def _refresh_links(self) -> None:
        """Stop links of a robot from pushing each other that are in contact at rest, once for each body."""
        world, table, bodies = self._world, self._table, self._bodies.table
        rows = world.rows[world.robots.self_collision[world.rows] & world.dynamic[world.rows]]
        for row in rows[(bodies.body[rows] != NO_BODY) & (table.linked[rows] != bodies.made[rows])].tolist():
            table.use()
            body, table.linked[row] = int(bodies.body[row]), bodies.made[row]
            for one, other in self._exempt_links(row):
                self._written = True
                self._bodies.client.setCollisionFilterPair(body, body, one, other, 0)

    # ---- pairs -------------------------------------------------------------------------------------------------------

    def _refresh_pairs(self, listed: Ints) -> None:
        """Write the `listed` pairs (K, 2) of rows, and those that were written before, where they differ.

        Pairs of bodies without mass are left out: they never push each other.
        """
        table, client = self._bodies.table, self._bodies.client
        listed = listed[self._world.dynamic[listed].any(axis=1) & (table.body[listed] != NO_BODY).all(axis=1)]
        pairs = np.concatenate((table.body[listed], np.array(list(self._pairs), np.int64).reshape(-1, 2)))
        pairs = np.unique(np.sort(pairs, axis=1), axis=0)
        rows = self._bodies.rows_of_bodies(pairs)
        held_mask = (rows >= 0).all(axis=1)
        pairs, rows = pairs[held_mask], rows[held_mask]
        collide_mask = self._world.collision_rules.may_collide(rows)
        # Only changes are written: writing a filter makes the engine drop the contacts of both bodies.
        for (first, second), (one, other), collide in zip(
            pairs.tolist(), table.made[rows].tolist(), collide_mask.tolist(), strict=True
        ):
            known = self._pairs.get((first, second))
            if known != ((one, other), collide):
                self._written = True
                self._pairs[first, second] = ((one, other), collide)
                for links in product(*(range(-1, client.getNumJoints(body)) for body in (first, second))):
                    client.setCollisionFilterPair(first, second, *links, int(collide))
