"""What users import from fleet_sim.swarm is there, and loaded at need."""

from __future__ import annotations

import pytest
from fresh_python import words_of

import fleet_sim.swarm


@pytest.mark.parametrize("name", fleet_sim.swarm.__all__)
def test_every_name_can_be_imported(name: str) -> None:
    assert getattr(fleet_sim.swarm, name) is not None
    assert name in dir(fleet_sim.swarm)


def test_importing_the_part_loads_no_drawing_nor_plotting() -> None:
    code = (
        "import sys, fleet_sim.swarm, fleet_sim.swarm.world, fleet_sim.swarm.simulate, fleet_sim.swarm.pictures;"
        "print(*{'PIL', 'matplotlib', 'cma', 'pyarrow', 'imageio_ffmpeg', 'tkinter', 'pybullet'} & sys.modules.keys())"
    )
    assert words_of(code) == []
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = fleet_sim.swarm.Nothing
