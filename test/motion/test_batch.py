"""A robot's motion does not depend on the robots computed together with it."""

import numpy as np
from motion_fleet import Fleet


def test_more_rows_than_one_chunk() -> None:
    many, one = Fleet(count=20_000), Fleet()
    goals = np.random.default_rng(3).normal(size=(20_000, 3)) * 3.0
    many.send(*goals[:, None, :], yaws=0.7)
    one.send(goals[19_999], yaws=0.7)
    many.step(5)
    one.step(5)
    assert many.world.position[19_999].tobytes() == one.world.position[0].tobytes()
    assert many.world.orientation[19_999].tobytes() == one.world.orientation[0].tobytes()
