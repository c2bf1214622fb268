"""Durations by distribution, against SciPy's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.base.settings import read
from fleet_sim.warehouse.orders.settings import ServiceSettings
from fleet_sim.world.clock import Distribution, duration_of, read_duration

SIGMA = np.sqrt(np.log(1.0 + 0.5**2))
THEIRS = {
    "uniform": ([60, 300], stats.uniform(60, 240)),
    "exponential": (120, stats.expon(scale=120)),
    "normal": ([120, 20], stats.norm(120, 20)),
    # Of a mean of 120 and a deviation of 60, as times and not as logarithms.
    "lognormal": ([120, 60], stats.lognorm(SIGMA, scale=120 / np.exp(0.5 * SIGMA**2))),
}


def drawn(kind: str, count: int = 20_000) -> npt.NDArray[np.float64]:
    found = read_duration({kind: THEIRS[kind][0]})
    assert isinstance(found, Distribution)
    return found.draw(7, np.arange(count) // 100, np.arange(count) % 100)


@pytest.mark.parametrize("kind", THEIRS)
def test_times_are_spread_as_those_of_scipy(kind: str) -> None:
    numbers, theirs = THEIRS[kind]
    mine = drawn(kind)
    assert stats.kstest(mine, theirs.cdf).pvalue > 0.01
    assert mine.mean() == pytest.approx(theirs.mean(), rel=0.03)
    assert read_duration({kind: numbers}).mean == pytest.approx(theirs.mean())  # type: ignore[union-attr]


def test_a_draw_depends_on_key_id_and_count_alone() -> None:
    for kind in THEIRS:
        found = read_duration({kind: THEIRS[kind][0]})
        assert isinstance(found, Distribution)
        whole = found.draw(3, np.arange(5)[:, None], np.arange(9))
        assert duration_of(found, 3, 2, 7) == whole[2, 7]
        assert len(np.unique(whole)) == whole.size and duration_of(found, 4, 2, 7) != whole[2, 7]
    assert duration_of(5.0, 3, 2, 7) == 5.0
    cut = read_duration({"normal": [1, 10]})
    assert isinstance(cut, Distribution)
    few = cut.draw(3, 0, np.arange(100))
    assert few.min() == 0.0 and few.max() > 10.0


def test_settings_are_read_and_written() -> None:
    for value in (0, 2.5, {"exponential": 3.0}, {"uniform": [1.0, 2.0]}):
        found = read_duration(value)
        assert read_duration(found) is found or found == value
        assert (found.as_setting() if isinstance(found, Distribution) else found) == value


@pytest.mark.parametrize(
    "value",
    [
        True,
        -1,
        float("nan"),
        1e10,
        "5",
        None,
        [],
        [1, 2],
        {},
        {"flat": [1, 2]},
        {"uniform": [1, 2], "normal": [1, 2]},
        {"uniform": [2, 1]},
        {"uniform": 1},
        {"uniform": [1, 2, 3]},
        {"exponential": [1, 2]},
        {"exponential": -1},
        {"exponential": float("inf")},
        {"normal": [1, "2"]},
        {"normal": [True, 2]},
        {"lognormal": [0, 1]},
        {"lognormal": [1, 1000]},
        {3: [1, 2]},
    ],
)
def test_bad_values_are_refused(value: object) -> None:
    with pytest.raises(InvalidValueError, match=r"got|expected"):
        read_duration(value)


def test_a_misspelt_distribution_gets_a_hint() -> None:
    reading: Callable[[], object] = lambda: read(ServiceSettings, {"pick_time": {"exponental": 3}}, path="service")  # noqa: E731
    with pytest.raises(ConfigError, match=r"service\.pick_time.*Did you mean 'exponential'"):
        reading()
