"""Random numbers that belong to agents."""

from __future__ import annotations

import numpy as np
import pytest

from fleet_sim.errors import InvalidValueError
from fleet_sim.swarm.draws import AgentDraws, normals, uniforms


def test_they_do_not_depend_on_company_or_order() -> None:
    ids, counts = np.arange(50), np.arange(50) % 7
    together = uniforms(3, ids, counts)
    order = np.random.default_rng(1).permutation(50)
    assert uniforms(3, ids[order], counts[order]).tolist() == together[order].tolist()
    assert [float(uniforms(3, ids[k : k + 1], counts[k : k + 1])[0]) for k in range(50)] == together.tolist()


def test_they_are_spread_evenly_and_independent() -> None:
    ids, counts = np.meshgrid(np.arange(200), np.arange(200))
    ids, counts = ids.ravel(), counts.ravel()
    lanes = [uniforms(5, ids, counts, lane) for lane in range(3)]
    for values in lanes:
        assert values.min() >= 0.0
        assert values.max() < 1.0
        assert np.histogram(values, 20, (0.0, 1.0))[0] == pytest.approx(2000, abs=200)
    table = lanes[0].reshape(200, 200)
    for one, other in ((lanes[0], lanes[1]), (table[:, :-1], table[:, 1:]), (table[:-1], table[1:])):
        assert np.corrcoef(one.ravel(), other.ravel())[0, 1] == pytest.approx(0.0, abs=0.02)
    bell = normals(5, ids, counts)
    assert (bell.mean(), bell.std()) == (pytest.approx(0.0, abs=0.02), pytest.approx(1.0, abs=0.02))
    assert (uniforms(6, ids, counts) != lanes[0]).any()


@pytest.mark.parametrize("seed", [-1, 1.5, True, "a"])
def test_seeds_are_whole_numbers(seed: object) -> None:
    with pytest.raises(InvalidValueError, match="Sensor: seed must be a whole number"):
        AgentDraws(seed, "Sensor")  # type: ignore[arg-type]
