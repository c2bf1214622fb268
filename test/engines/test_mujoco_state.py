"""What a state file says of sleeping bodies is checked before MuJoCo believes it: it would read beside its arrays."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fleet_sim.errors import StateFileError
from fleet_sim.mujoco.state import check_state, restore_state, state_of

XML = """<mujoco><option><flag sleep="enable"/></option><worldbody><geom type="plane" size="5 5 .1"/>
<body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
<body pos="0 0 .3"><freejoint/><geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>"""


def test_trees_that_are_none_are_refused() -> None:
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    model = mujoco.MjModel.from_xml_string(XML)
    bound: Any = SimpleNamespace(model=model, data=mujoco.MjData(model), waking=set())
    while bound.data.ntree_awake:
        mujoco.mj_step(model, bound.data)
    state = state_of(bound)
    # They sleep together: each is followed by the other.
    assert state.asleep.tolist() == [1, 0]
    check_state(bound, state)
    for wrong in ([1, 2], [1, 1], [1, -1], [-100, -100], [1]):
        with pytest.raises(StateFileError):
            check_state(bound, state._replace(asleep=np.array(wrong)))
    with pytest.raises(StateFileError):
        check_state(bound, state._replace(waking=(2,)))
    restore_state(bound, state._replace(waking=(0,)))
    assert not bound.data.ntree_awake
    assert bound.waking == {0}
