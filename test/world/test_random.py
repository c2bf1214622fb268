"""Random streams and numbers as functions: one seed, and purposes that do not disturb each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_sim.base.arrays import Floats
from fleet_sim.world.clock import RandomStreams, normal_rows, normals, purpose_key, uniforms

# ---- streams ---------------------------------------------------------------------------------------------------------


def test_a_stream_does_not_depend_on_the_others() -> None:
    plain, busy = RandomStreams(7), RandomStreams(7)
    busy.stream("noise").random(100)
    assert plain.stream("grid").random(5).tolist() == busy.stream("grid").random(5).tolist()


def test_purposes_and_seeds_differ() -> None:
    draws = {
        tuple(RandomStreams(seed).stream(purpose).random(3).tolist()) for seed in (1, 2) for purpose in ("a", "b", "")
    }
    assert len(draws) == 6
    keys = {purpose_key(seed, f"{word} {number}") for seed in range(20) for word in "abc" for number in range(100)}
    assert len(keys) == 6000


def test_going_back_repeats_the_draws() -> None:
    streams = RandomStreams(3)
    streams.stream("a").random(10)
    saved = streams.save()
    expected = streams.stream("a").random(4).tolist(), streams.stream("late").random(2).tolist()
    streams.restore(saved)
    assert (streams.stream("a").random(4).tolist(), streams.stream("late").random(2).tolist()) == expected


def test_the_keys_are_those_of_every_machine_and_release() -> None:
    assert RandomStreams(7).key("grid") == purpose_key(7, "grid") == 9242644004955782792
    assert uniforms(9242644004955782792, 3, 5).tolist() == [0.28660107679933566]


# ---- numbers as functions --------------------------------------------------------------------------------------------

KEYS = np.array([purpose_key(1, f"sensor {number}") for number in range(200)], np.uint64)


@pytest.mark.parametrize("draw", [uniforms, normals])
def test_they_do_not_depend_on_company_or_order(draw: Callable[..., Floats]) -> None:
    ids, counts = np.arange(50), np.arange(50) % 7
    together = draw(3, ids, counts)
    order = np.random.default_rng(1).permutation(50)
    assert draw(3, ids[order], counts[order]).tolist() == together[order].tolist()
    assert [float(draw(3, ids[k : k + 1], counts[k : k + 1])[0]) for k in range(50)] == together.tolist()
    assert draw(np.full(50, 3, np.uint64), ids, counts).tolist() == together.tolist()


@given(st.integers(1, 9), st.integers(0, 2**40), st.integers(1, 70), st.integers(0, 9))
def test_rows_are_the_same_numbers(keys: int, ids: int, count: int, lane: int) -> None:
    rows = normal_rows(KEYS[:keys], ids, count, lane)
    assert rows.tolist() == normals(KEYS[:keys, None], ids, np.arange(count), lane).tolist()
    assert normal_rows(KEYS[:1], ids, count, lane).tolist() == rows[:1].tolist()
    # Asked for more, the first ones stay.
    assert normal_rows(KEYS[:keys], ids, count + 3, lane)[:, :count].tolist() == rows.tolist()


def alike(one: Floats, other: Floats) -> float:
    return float(np.corrcoef(one.ravel(), other.ravel())[0, 1])


def test_uniforms_are_spread_evenly_whatever_is_counted_up() -> None:
    """Keys, ids, counts and lanes that follow each other give numbers that know nothing of each other."""
    span = np.arange(200)
    tables = {
        "ids and counts": uniforms(5, span[:, None], span),
        "keys and counts": uniforms(span.astype(np.uint64)[:, None], 9, span),
        "purposes and ids": uniforms(KEYS[:, None], span, 2),
        "lanes and ids": np.stack([uniforms(5, span, 1, lane) for lane in range(200)]),
    }
    for name, table in tables.items():
        assert table.min() >= 0.0 and table.max() < 1.0
        assert np.histogram(table, 20, (0.0, 1.0))[0] == pytest.approx(2000, abs=200), name
        assert alike(table[:, :-1], table[:, 1:]) == pytest.approx(0.0, abs=0.02), name
        assert alike(table[:-1], table[1:]) == pytest.approx(0.0, abs=0.02), name
        assert len(np.unique(table)) == table.size
    assert alike(tables["ids and counts"], uniforms(5, span[:, None], span, 1)) == pytest.approx(0.0, abs=0.02)
    assert alike(tables["ids and counts"], uniforms(6, span[:, None], span)) == pytest.approx(0.0, abs=0.02)


def test_normals_are_normal_and_independent() -> None:
    drawn = normal_rows(np.arange(2000, dtype=np.uint64), 7, 51)
    assert abs(drawn.mean()) < 0.01
    assert abs(drawn.std() - 1.0) < 0.01
    assert abs((drawn**3).mean()) < 0.05
    assert abs((drawn**4).mean() - 3.0) < 0.1
    assert abs(alike(drawn[:-1], drawn[1:])) < 0.01
    # Neighbours come from one pair of uniform numbers, so neither they nor their sizes may go together.
    assert abs(alike(drawn[:, 0:50:2], drawn[:, 1:50:2])) < 0.015
    assert abs(alike(drawn[:, 0:50:2] ** 2, drawn[:, 1:50:2] ** 2)) < 0.015
    for other in (normal_rows(np.arange(2000, dtype=np.uint64), 8, 51), normal_rows(KEYS.repeat(10) + 1, 7, 51)):
        assert abs(alike(drawn, other)) < 0.01
    assert abs(alike(drawn, normal_rows(np.arange(2000, dtype=np.uint64), 7, 51, lane=1))) < 0.01
