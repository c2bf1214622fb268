"""Builds the mjSpec of a world from its plan, and compiles it."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core.robot_model import BASE, PRISMATIC, REVOLUTE, Inertial, RobotModel
from fleet_sim.core.shapes import BodyShape, Geometry
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError
from fleet_sim.mujoco.compiled import DAMPING, Compiled, table_of
from fleet_sim.mujoco.geoms import GeomMaker, inertia_of, wxyz
from fleet_sim.mujoco.module import mujoco_module
from fleet_sim.mujoco.plans import DRIVEN, DYNAMIC, RowPlan, WorldPlan
from fleet_sim.mujoco.surfaces import FLOOR_FRICTION, ContactSurface, surfaces_of
from fleet_sim.spatial.shapes import ShapeKind

HEAVY = 1e7
"""Mass in kg, and inertia in kg m2, of bodies that are driven: nothing that falls slows them down."""
LEAST_MASS, LEAST_INERTIA = 1e-3, 1e-7
"""Of links that turn or slide and have none in their file: MuJoCo cannot move what weighs nothing."""
FLOOR_BIT = 30
_ARENA, _ARENA_PER_BODY = 16 * 2**20, 32 * 2**10


@dataclass(frozen=True)
class SpecOptions:
    """Settings of the simulation that the model depends on."""

    floor: bool
    inertia_from_file: bool
    iterations: int


class _Made(NamedTuple):
    """A body of the spec: of which place in the plan, and which link."""

    body: Any
    place: int
    link: int


@dataclass(eq=False)
class WorldSpec:
    """Builds one spec."""

    world: World
    plan: WorldPlan
    options: SpecOptions
    arena: int = 0
    """Bytes for contacts and constraints, 0: as many as usual."""
    _made: list[_Made] = field(default_factory=list, init=False)
    _joints: list[tuple[Any, int, int]] = field(default_factory=list, init=False)
    _surfaces: list[tuple[Any, ContactSurface]] = field(default_factory=list, init=False)
    _names: list[list[str]] = field(default_factory=list, init=False)

    def compile(self) -> Compiled:
        """Return the compiled model; raises InvalidValueError for what MuJoCo cannot make."""
        mujoco = mujoco_module()
        self._mujoco, self._spec = mujoco, mujoco.MjSpec()
        self._geoms = GeomMaker(self._spec)
        self._set_options()
        if self.options.floor:
            kind = mujoco.mjtGeom.mjGEOM_PLANE
            floor = self._spec.worldbody.add_geom(
                type=kind, size=[0.0, 0.0, 1.0], contype=1 << FLOOR_BIT, conaffinity=0
            )
            self._surfaces.append((floor, ContactSurface(friction=FLOOR_FRICTION)))
        for place, row in enumerate(self.plan.rows):
            self._names.append([])
            self._add_row(place, row)
        for one, other in self.plan.apart:
            for pair in product(self._names[one], self._names[other]):
                self._spec.add_exclude(bodyname1=pair[0], bodyname2=pair[1])
        self._spec.memory = self.arena or _ARENA + _ARENA_PER_BODY * len(self._made)
        try:
            model = self._spec.compile()
        except ValueError as error:
            raise InvalidValueError(f"MuJoCo cannot make this world: {error}") from error
        return self._compiled(model)

    def _set_options(self) -> None:
        mujoco, option = self._mujoco, self._spec.option
        option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        # Friction is held harder than contacts are, so that what is grasped does not creep.
        option.impratio = 10.0
        option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        option.iterations = self.options.iterations
        # The solver ends when a gain is small for the largest inertias around, which are those of driven bodies: by
        # the usual tolerance it would end before things of a few grams have found their rest.
        option.tolerance = 1e-14
        option.enableflags |= mujoco.mjtEnableBit.mjENBL_SLEEP
        # What is fast meets what is thin, and lands on it.
        option.enableflags |= mujoco.mjtEnableBit.mjENBL_SPECULATIVE
        # Which links pass through each other is said one by one.
        option.disableflags |= mujoco.mjtDisableBit.mjDSBL_FILTERPARENT
        # A world that went wrong must be seen, and not begin anew.
        option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
        self._spec.compiler.degree = False
        self._spec.compiler.balanceinertia = True

    # ---- rows --------------------------------------------------------------------------------------------------------

    def _add_row(self, place: int, row: RowPlan) -> None:
        model = None if row.model < 0 else self.world.models[row.model]
        shape = self.world.shapes[row.shape] if row.shape >= 0 else BodyShape()
        if model is not None:
            add = self._add_robot if row.how == DYNAMIC else self._add_pieces
            add(place, row, model, shape)
            return
        collides = shape.collision if shape.collision and shape.collision.kind != ShapeKind.NONE else None
        if collides is None and row.how != DYNAMIC:
            return
        body = self._body(place, BASE, row, collides)
        if row.how == DYNAMIC:
            own = inertia_of([collides] if collides else [], row.mass, np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
            self._weigh(body, row.mass, np.maximum(own, LEAST_INERTIA), Inertial())
            body.add_freejoint()
        if collides is not None:
            self._geom(body, collides, row, ContactSurface())

    def _add_pieces(self, place: int, row: RowPlan, model: RobotModel, _shape: BodyShape) -> None:
        """Add a body for each link of a kinematic robot that has shapes; the columns say where it is."""
        surfaces = surfaces_of(model)
        for link in sorted({piece.link for piece in model.collisions}):
            shapes = [piece.geometry for piece in model.collisions if piece.link == link]
            body = self._body(place, link, row, shapes[0])
            for geometry in shapes:
                self._geom(body, geometry, row, surfaces.get(_name(model, link), ContactSurface()))

    def _add_robot(self, place: int, row: RowPlan, model: RobotModel, shape: BodyShape) -> None:
        surfaces = surfaces_of(model)
        own = sum(inertial.mass for inertial in model.inertials)
        scale = row.mass / own if own else 0.0
        bodies: dict[int, Any] = {}
        for link in [BASE, *range(model.num_joints)]:
            if link == BASE:
                body = self._made_body(place, BASE, self._spec.worldbody, mocap=shape.fixed_base)
                if not shape.fixed_base:
                    body.add_freejoint()
            else:
                body = self._made_body(place, link, bodies[int(model.parents[link])])
                body.pos, body.quat = model.joint_positions[link], wxyz(model.joint_orientations[link])
                self._add_joint(body, place, model, link)
            bodies[link] = body
            shapes = [piece.geometry for piece in model.collisions if piece.link == link]
            inertial = model.inertials[link + 1] if len(model.inertials) > link + 1 else Inertial()
            # A file without masses gives no proportions to scale by: the base gets it all.
            mass = scale * inertial.mass if own else row.mass * (link == BASE)
            moves = (link == BASE and not shape.fixed_base) or (link >= 0 and model.slots[link] >= 0)
            self._weigh_link(body, inertial, mass, shapes, moves=moves)
            for geometry in shapes:
                self._geom(body, geometry, row, surfaces.get(_name(model, link), ContactSurface()))
        self._keep_links_apart(place, row, model)
        if row.mimics:
            self._add_gears(place, model)

    def _keep_links_apart(self, place: int, row: RowPlan, model: RobotModel) -> None:
        """Let all links of a robot pass through each other, or with `self_collision` those that belong together."""
        names = self._names[place]
        pairs = set(combinations(range(len(names)), 2))
        if row.exempt_links is not None:
            joined = {(int(parent) + 1, link + 1) for link, parent in enumerate(model.parents)}
            pairs = joined | {(one + 1, other + 1) for one, other in row.exempt_links}
        for one, other in sorted(pairs):
            self._spec.add_exclude(bodyname1=names[one], bodyname2=names[other])

    def _add_joint(self, body: Any, place: int, model: RobotModel, joint: int) -> None:
        kind = int(model.joint_types[joint])
        if kind not in (REVOLUTE, PRISMATIC):
            # Fixed ones, and those without a single position, stay as the file has them.
            return
        types = self._mujoco.mjtJoint
        made = body.add_joint(
            name=f"{place}/{joint}",
            type=types.mjJNT_HINGE if kind == REVOLUTE else types.mjJNT_SLIDE,
            axis=model.axes[joint].tolist(),
        )
        made.damping = float(model.damping[joint]) if np.isscalar(made.damping) else [float(model.damping[joint]), 0, 0]
        made.limited = int(model.limited_mask[joint])
        if model.limited_mask[joint]:
            made.range = [float(model.lower[joint]), float(model.upper[joint])]
        self._joints.append((made, place, int(model.slots[joint])))

    def _add_gears(self, place: int, model: RobotModel) -> None:
        for mimic in model.mimics:
            equality = self._spec.add_equality(
                type=self._mujoco.mjtEq.mjEQ_JOINT,
                objtype=self._mujoco.mjtObj.mjOBJ_JOINT,
                name1=f"{place}/{mimic.follower}",
                name2=f"{place}/{mimic.leader}",
            )
            equality.data = [mimic.offset, mimic.multiplier] + [0.0] * (len(equality.data) - 2)

    # ---- bodies ------------------------------------------------------------------------------------------------------

    def _body(self, place: int, link: int, row: RowPlan, shape: Geometry | None) -> Any:
        """Add the body of a plain row or a piece: moved by physics, by velocities, by its pose alone, or by nothing."""
        parent = self._spec.worldbody
        if row.how == DYNAMIC:
            return self._made_body(place, link, parent)
        if row.pose is not None:
            body = self._made_body(place, link, parent)
            body.pos, body.quat = row.pose[:3], wxyz(row.pose[3:])
            return body
        # What reaches to infinity does not move with a velocity.
        if row.how == DRIVEN and shape is not None and shape.kind != ShapeKind.PLANE:
            body = self._made_body(place, link, parent)
            self._weigh(body, HEAVY, np.full(3, HEAVY), Inertial())
            body.gravcomp = 1.0
            body.add_freejoint()
            return body
        return self._made_body(place, link, parent, mocap=True)

    def _made_body(self, place: int, link: int, parent: Any, *, mocap: bool = False) -> Any:
        name = f"{place}:{link}"
        body = parent.add_body(name=name, mocap=mocap)
        self._made.append(_Made(body, place, link))
        self._names[place].append(name)
        return body

    def _weigh_link(self, body: Any, inertial: Inertial, mass: float, shapes: list[Geometry], *, moves: bool) -> None:
        centre, turn = np.array(inertial.position), np.array(inertial.orientation)
        own = np.array(inertial.inertia) * (mass / inertial.mass if inertial.mass else 0.0)
        if shapes and not self.options.inertia_from_file:
            own = inertia_of(shapes, mass, centre, turn)
        if moves:
            mass, own = max(mass, LEAST_MASS), np.maximum(own, LEAST_INERTIA)
        self._weigh(body, mass, own, inertial)

    def _weigh(self, body: Any, mass: float, inertia: Floats, frame: Inertial) -> None:
        body.explicitinertial = True
        body.mass, body.inertia = mass, inertia
        body.ipos, body.iquat = frame.position, wxyz(frame.orientation)

    def _geom(self, body: Any, geometry: Geometry, row: RowPlan, surface: ContactSurface) -> None:
        surface = surface.with_material(row.material[0], row.material[1], row.material[2])
        meets = self.plan.meets[row.kind]
        floor = (1 << FLOOR_BIT) if row.how == DYNAMIC else 0
        # Rolling and spinning friction need more rows in a contact.
        condim = 6 if surface.rolling > 0.0 else 4 if surface.spinning > 0.0 else 3
        made = self._geoms.add(body, geometry, contype=1 << row.kind, conaffinity=meets | floor, condim=condim)
        self._surfaces += [(geom, surface) for geom in made]

    # ---- after compiling ---------------------------------------------------------------------------------------------

    def _compiled(self, model: Any) -> Compiled:
        place = np.full(model.nbody, -1, np.int64)
        link = np.full(model.nbody, -2, np.int64)
        base = np.full(len(self.plan.rows), -1, np.int64)
        numbers = [made.body.id for made in self._made]
        for number, made in zip(numbers, self._made, strict=True):
            place[number], link[number] = made.place, made.link
            if base[made.place] < 0:
                base[made.place] = number
        free, seats, pieces = [], [], []
        for number, made in zip(numbers, self._made, strict=True):
            joint = int(model.body_jntadr[number])
            has_free = joint >= 0 and model.jnt_type[joint] == self._mujoco.mjtJoint.mjJNT_FREE
            q, v = (int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])) if has_free else (-1, -1)
            mocap = int(model.body_mocapid[number])
            if self.plan.rows[made.place].how != DYNAMIC:
                pieces.append((made.place, made.link, mocap, q, v))
            elif has_free:
                free.append((made.place, q, v))
                self._damp(model, number, v, self.plan.rows[made.place])
            elif mocap >= 0:
                seats.append((made.place, mocap))
        joints = []
        for made_joint, at, slot in self._joints:
            number = made_joint.id
            joints.append((at, slot, int(model.jnt_qposadr[number]), int(model.jnt_dofadr[number])))
            self._prepare_joint(model, int(model.jnt_dofadr[number]))
        surfaces = np.zeros((model.ngeom, 4))
        for geom, surface in self._surfaces:
            surfaces[geom.id] = surface
        tables = table_of(free, 3), table_of(seats, 2), table_of(pieces, 5), table_of(joints, 4)
        return Compiled(model, place, link, base, *tables, surfaces)

    def _prepare_joint(self, model: Any, dof: int) -> None:
        """Make the friction of a joint stiff, as it is what motors act through; and keep robots with motors awake."""
        model.dof_solimp[dof, :2] = 0.999
        model.tree_sleep_policy[model.dof_treeid[dof]] = self._mujoco.mjtSleepPolicy.mjSLEEP_NEVER

    def _damp(self, model: Any, body: int, dof: int, row: RowPlan) -> None:
        """Slow down a free body, by a force and a torque in proportion to its velocities; see `drag` for the rest."""
        linear, angular = (value if value >= 0.0 else DAMPING for value in row.material[3:5])
        # Links are slowed down one by one.
        model.dof_damping[dof : dof + 3] = linear * model.body_mass[body]
        model.dof_damping[dof + 3 : dof + 6] = angular * model.body_inertia[body]


def _name(model: RobotModel, link: int) -> str:
    return model.base_name if link == BASE else model.link_names[link]
