"""Axes of reports: round numbers that hold all values, and numbers as people read them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_sim.apps.reports.plots import NONE, Scale, around, clock_to, from_zero, number, percent, round_step

sizes = st.floats(1e-6, 1e9)


def is_round(step: float) -> bool:
    """Return whether a number is 1, 2 or 5 times a power of ten."""
    digits = step / 10.0 ** math.floor(math.log10(step) + 1e-9)
    return any(digits == pytest.approx(times) for times in (1.0, 2.0, 5.0))


@given(sizes, st.integers(2, 12))
def test_steps_are_round_and_as_small_as_their_number_allows(span: float, most: int) -> None:
    step = round_step(span, most)
    assert is_round(step)
    assert span / step <= most * (1.0 + 1e-6)
    assert span / step > most / 2.5 * (1.0 - 1e-6)


@given(sizes)
def test_a_scale_from_zero_ends_at_the_first_round_number_that_is_enough(high: float) -> None:
    scale = from_zero(high)
    assert scale.low == 0.0
    assert scale.high >= high * (1.0 - 1e-6)
    assert scale.ticks[0] == 0.0
    assert scale.ticks[-1] == scale.high
    assert scale.ticks[-2] < high * (1.0 + 1e-6)


@pytest.mark.parametrize("high", [0.0, -3.0])
def test_a_scale_of_nothing_is_that_of_one(high: float) -> None:
    assert from_zero(high) == from_zero(1.0)


@given(st.floats(-1e6, 1e6), st.floats(0.0, 1e6))
def test_a_scale_holds_its_values_between_round_numbers(low: float, span: float) -> None:
    scale = around(low, low + span)
    slack = 1e-6 * max(1.0, abs(low), span)
    assert scale.low <= low + slack
    assert scale.high >= low + span - slack
    assert 2 <= len(scale.ticks) <= 8
    assert list(scale.ticks) == sorted(scale.ticks)


def test_places_are_between_the_ends_whichever_comes_first() -> None:
    scale = Scale(10.0, 20.0, (10.0, 15.0, 20.0))
    assert [scale.place(value, 100.0, 300.0) for value in scale.ticks] == [100.0, 200.0, 300.0]
    # Up a page pixels count down.
    assert scale.place(12.5, 300.0, 100.0) == 250.0
    assert Scale(4.0, 4.0, (4.0,)).place(4.0, 7.0, 9.0) == 7.0


@pytest.mark.parametrize(
    ("high", "texts"),
    [
        (1.0, ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (0.04, ["0", "0.01", "0.02", "0.03", "0.04"]),
        (4000.0, ["0", "1\u202f000", "2\u202f000", "3\u202f000", "4\u202f000"]),
    ],
)
def test_round_numbers_as_texts(high: float, texts: list[str]) -> None:
    assert from_zero(high).texts() == texts
    assert from_zero(high).texts("m") == [f"{text} m" for text in texts]


@given(st.floats(-1e9, 1e9), st.integers(0, 4))
def test_a_number_reads_back(value: float, digits: int) -> None:
    text = number(value, digits)
    back = float(text.replace("\u202f", "").replace("\u2212", "-"))
    assert back == pytest.approx(value, abs=0.5 * 10.0**-digits * (1.0 + 1e-6))
    assert "." not in text or not text.endswith(("0", "."))
    assert text not in ("\u22120", "-0")


def test_numbers_that_are_none_or_next_to_nothing() -> None:
    assert number(None) == NONE
    assert number(-0.001, 2) == "0"
    assert number(1234567.0) == "1\u202f234\u202f567"
    assert number(100.0, 1) == "100"


@pytest.mark.parametrize(
    ("seconds", "unit", "last"),
    [
        (0.5, "s", "0.5 s"),
        (90.0, "s", "90 s"),
        (150.0, "min", "2.5 min"),
        (7200.0, "h", "2 h"),
        (3 * 86_400.0, "d", "3 d"),
    ],
)
def test_runs_are_shown_in_a_unit_that_fits(seconds: float, unit: str, last: str) -> None:
    axis = clock_to(seconds)
    assert axis.unit == unit
    assert axis.text(axis.scale.high) == last
    assert axis.scale.high == seconds
    assert 1 < len(axis.scale.ticks) <= 9
    assert axis.scale.ticks[-1] <= seconds + 1e-9


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.123, "+12 %"), (0.0123, "+1.2 %"), (-0.5, "\u221250 %"), (0.0, "±0 %"), (12.0, "+1\u202f200 %")],
)
def test_changes_have_a_sign(share: float, text: str) -> None:
    assert percent(share) == text
