"""A robot's motion does not depend on the robots computed together with it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from motion_fleet import DIFFERENTIAL, LIMITS, OMNI, Fleet

from fleet_sim.core.steering import give_limits, give_velocities


def _start(fleet: Fleet, rows: np.ndarray, which: np.ndarray, seed: int) -> None:
    random = np.random.default_rng(seed)
    count = 40
    paths = [random.normal(size=(random.integers(1, 6), 3)) * random.choice([0.01, 0.3, 2.0]) for _ in range(count)]
    yaws = [random.uniform(-3.0, 3.0, len(path)) for path in paths]
    twists = random.normal(size=(count, 6))
    limits = random.uniform(0.5, 3.0, (count, 3))
    for row, robot in zip(rows, which, strict=True):
        one = np.array([row])
        if robot % 4 == 0:
            give_limits(fleet.world, one, **{**LIMITS, "linear_speed": limits[[robot]]})  # type: ignore[arg-type]
        if robot % 3 == 0:
            give_velocities(fleet.world, one, twists[[robot], :3], twists[[robot], 3:])
        else:
            fleet.send(paths[robot], yaws=yaws[robot], rows=one, align_final=bool(robot % 2))


@pytest.mark.parametrize("law", [OMNI, DIFFERENTIAL])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), robot=st.integers(0, 39))
def test_alone_and_in_company_are_the_same_bits(law: str, seed: int, robot: int) -> None:
    together, alone = Fleet(law, count=40), Fleet(law)
    _start(together, together.rows, np.arange(40), seed)
    _start(alone, alone.rows, np.array([robot]), seed)
    for _ in range(25):
        together.step()
        alone.step()
        for name in ("position", "orientation", "velocity", "angular_velocity"):
            one, many = getattr(alone.world, name)[0], getattr(together.world, name)[robot]
            assert one.tobytes() == many.tobytes(), name


def test_more_rows_than_one_chunk() -> None:
    many, one = Fleet(count=20_000), Fleet()
    goals = np.random.default_rng(3).normal(size=(20_000, 3)) * 3.0
    many.send(*goals[:, None, :], yaws=0.7)
    one.send(goals[19_999], yaws=0.7)
    many.step(5)
    one.step(5)
    assert many.world.position[19_999].tobytes() == one.world.position[0].tobytes()
    assert many.world.orientation[19_999].tobytes() == one.world.orientation[0].tobytes()
