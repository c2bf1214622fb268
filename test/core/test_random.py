"""Random streams: one seed, and purposes that do not disturb each other."""

from __future__ import annotations

from fleet_sim.core.random import RandomStreams


def test_a_stream_does_not_depend_on_the_others() -> None:
    plain, busy = RandomStreams(7), RandomStreams(7)
    busy.stream("noise").random(100)
    assert plain.stream("grid").random(5).tolist() == busy.stream("grid").random(5).tolist()


def test_purposes_and_seeds_differ() -> None:
    draws = {
        tuple(RandomStreams(seed).stream(purpose).random(3).tolist()) for seed in (1, 2) for purpose in ("a", "b", "")
    }
    assert len(draws) == 6


def test_going_back_repeats_the_draws() -> None:
    streams = RandomStreams(3)
    streams.stream("a").random(10)
    saved = streams.save()
    expected = streams.stream("a").random(4).tolist(), streams.stream("late").random(2).tolist()
    streams.restore(saved)
    assert (streams.stream("a").random(4).tolist(), streams.stream("late").random(2).tolist()) == expected
