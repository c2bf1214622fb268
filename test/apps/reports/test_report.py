"""`fleet-sim report`: a page that needs nothing beside itself, and tables."""

from __future__ import annotations

import csv
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_sim import InvalidValueError
from fleet_sim.apps.cli.main import main
from fleet_sim.apps.reports import page_of
from fleet_sim.apps.reports.page import rows_of, write_table
from fleet_sim.apps.reports.plots import NONE, Scale, around, clock_to, from_zero, number, percent, round_step
from fleet_sim.warehouse.sites import Warehouse
from fleet_sim.warehouse.traffic.figures import FigureCollector, StateKind
from fleet_sim.warehouse.traffic.figures_file import read_run, run_of, write_run

EVIL = "<script>alert(1)</script>\"'&"


def make(path: Path, title: str = "hall, pibt", tasks: int = 3, seed: int = 0, **figures: float | None) -> str:
    """Write the run of two robots in a warehouse for a minute."""
    site = Warehouse(rows=2, columns=2).site()
    found = FigureCollector(site.grid)
    cells = site.grid.free_cells
    for step in range(120):
        found.observe(0.5, np.arange(2), site.grid.positions(cells[[step, 200]]), np.array([0, 1 + step % 2]))
        if step % 40 == 20:
            found.tasks_ended(np.full(tasks, 2.0 + step))
    given = {"robots": 2.0, "simulated_s": 60.0, "tasks_done": float(found.tasks_done), "collisions": 0.0, **figures}
    about = {"planner": "pibt", title: title, "seed": str(seed)}
    write_run(path, run_of(title, given, found, about=about, distributions={"flow_time_s": found.flow_times}))
    return str(path)


class Outline(HTMLParser):
    """Which elements there are, and whether each is closed; all their texts and the values of their attributes."""

    VOID = ("meta", "img", "line", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links.extend(value or "" for name, value in attrs if name in ("src", "href"))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links.extend(value or "" for name, value in attrs if name in ("src", "href"))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def outline(page: str) -> Outline:
    found = Outline()
    found.feed(page)
    assert not found.open
    return found


def test_a_page_needs_nothing_beside_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, out = make(tmp_path / "run.json"), tmp_path / "page.html"
    assert main(["report", run, "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"wrote {out}\n"
    page = out.read_text(encoding="utf-8")
    found = outline(page)
    assert found.links
    assert all(link.startswith("data:image/png;base64,") for link in found.links)
    assert not re.search(r"https?://|@import|url\(", page)
    assert found.tags.count("svg") == 5
    assert found.tags.count("image") == 2
    assert {"hall, pibt", "Throughput", "Tasks done", "What robots did", "Where robots waited"} <= set(found.texts)
    # Light and dark.
    assert "prefers-color-scheme:dark" in page


def test_two_runs_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = make(tmp_path / "one.json", wall_s=2.0, deadlocks=0.0)
    two = make(tmp_path / "two.json", "hall, lacam", tasks=6, wall_s=1.0, deadlocks=1.0)
    assert main(["report", one, two, "--out", str(tmp_path / "both.html")]) == 0
    page = (tmp_path / "both.html").read_text(encoding="utf-8")
    found = outline(page)
    assert found.tags.count("image") == 4
    # Twice the tasks are better, as is half the time; a deadlock more is worse.
    assert '<span class="good">+100 %</span>' in page
    assert '<span class="good">\u221250 %</span>' in page
    assert '<span class="bad">+1</span>' in page
    capsys.readouterr()
    assert main(["report", one, two]) == 0
    assert re.search(r"Tasks done +9 +18\n", capsys.readouterr().out)


def test_runs_of_several_seeds_are_a_mean_in_a_band(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = {1: 3, 2: 6, 5: 12}
    files = [make(tmp_path / f"{seed}.json", tasks=tasks, seed=seed) for seed, tasks in counts.items()]
    assert main(["report", *files, "--bands", "--out", str(tmp_path / "bands.html")]) == 0
    page = (tmp_path / "bands.html").read_text(encoding="utf-8")
    texts = outline(page).texts
    # 9, 18 and 36 tasks: Student's 4.303 standard errors of 13.748 / sqrt(3) to either side.
    row = texts.index("Tasks done", texts.index("All figures"))
    assert texts[row + 1 : row + 4] == ["21 ± 34.2", "9", "36"]
    assert "3 runs with the seeds 1, 2, 5" in texts
    # Tasks end in three of 120 stretches, in each run in proportion.
    svg = next(part for part in re.findall(r"<svg.*?</svg>", page, re.DOTALL) if "tasks per hour over time" in part)
    found = json.loads(ElementTree.fromstring(svg).get("data-tips") or "")
    rates = [[float(line.replace("\u202f", "").split()[1]) for line in tip[1:]] for _, tip in found]
    mean, least, most = np.array(rates).T
    assert most.sum() / 3600.0 * 60.0 / len(rates) == pytest.approx(36, rel=0.01)
    assert least * 4.0 == pytest.approx(most, rel=0.01)
    assert mean * 3.0 == pytest.approx(least * 7.0, rel=0.01)
    capsys.readouterr()
    for wrong, reason in (
        ([files[0], files[0], "--bands"], "each with a seed of its own"),
        ([files[0], make(tmp_path / "b.json", seed=9, robots=3.0), "--bands"], "got other robots"),
        (files, "more than two runs are shown with --bands"),
    ):
        assert main(["report", *wrong, "--out", str(tmp_path / "no.html")]) == 1
        assert reason in capsys.readouterr().err
    assert not (tmp_path / "no.html").exists()


def test_no_name_can_break_out_of_the_page(tmp_path: Path) -> None:
    one = make(tmp_path / "one.json", EVIL, **{EVIL: 1.0})
    run = read_run(one)
    content = json.loads(Path(one).read_text())
    content["series"]["robot_seconds"] = {EVIL: content["series"]["robot_seconds"]["driving"]}
    content["heat"]["marks"] = [[EVIL, EVIL, 0.5, 0.5]]
    content["tables"] = [{"heading": EVIL, "columns": [EVIL, "b"], "rows": [[EVIL, None], ["c", 2.5]]}]
    (tmp_path / "two.json").write_text(json.dumps(content))
    page = page_of([run, read_run(tmp_path / "two.json")])
    found = outline(page)
    assert found.tags.count("script") == 1
    assert "<script>alert" not in page
    assert any(EVIL in text for text in found.texts)
    for svg in re.findall(r"<svg.*?</svg>", page):
        tips = ElementTree.fromstring(svg).get("data-tips")
        if "<image" in svg:
            continue
        assert tips is not None
        assert all(isinstance(line, str) for _, lines in json.loads(tips) for line in lines)


def test_runs_with_little_in_them_have_a_page(tmp_path: Path) -> None:
    site = Warehouse(rows=1, columns=1).site()
    collector = FigureCollector(site.grid, states=[StateKind("driving", role) for role in ()])
    write_run(tmp_path / "none.json", run_of("", {}, collector, about={}, distributions={}))
    run = read_run(tmp_path / "none.json")
    outline(page_of([run]))
    outline(page_of([run, read_run(make(tmp_path / "one.json"))]))
    outline(page_of([read_run(make(tmp_path / "one.json")), run]))
    with pytest.raises(InvalidValueError, match="one or two runs, got 3"):
        page_of([run] * 3)


def test_tables(tmp_path: Path) -> None:
    runs = [make(tmp_path / "one.json"), make(tmp_path / "two.json", "hall, lacam", closest_m=None, wall_s=1.5)]
    assert main(["report", *runs, "--csv", str(tmp_path / "both.csv")]) == 0
    with (tmp_path / "both.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["run"] for row in rows] == ["hall, pibt", "hall, lacam"]
    assert [row["wall_s"] for row in rows] == ["", "1.5"]
    assert [row["closest_m"] for row in rows] == ["", ""]
    assert [row["tasks_done"] for row in rows] == ["9", "9"]
    # No text, which would get an apostrophe.
    figures = {"gap_m": -0.25, "third": 1.0 / 3.0, "whole": -3.0, "none": None, "no_number": math.nan, "far": math.inf}
    write_table(tmp_path / "one.csv", [replace(read_run(runs[0]), figures=figures)])
    assert (tmp_path / "one.csv").read_text().splitlines()[1] == '"hall, pibt",-0.25,0.3333333333,-3,,nan,inf'
    parquet = pytest.importorskip("pyarrow.parquet")
    assert main(["report", *runs, "--csv", str(tmp_path / "both.parquet")]) == 0
    table = parquet.read_table(tmp_path / "both.parquet").to_pydict()
    assert table["tasks_done"] == [9.0, 9.0]
    assert table["wall_s"] == [None, 1.5]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--out", "page.txt"], "the page must be a .html file"),
        (["--out", "no/page.html"], "there is no folder 'no'"),
        (["--csv", "table.xlsx"], "the ending must be .csv or .parquet"),
        (["missing.json"], "there is no such file"),
    ],
)
def test_mistakes_are_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: list[str], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "run.json")
    assert main(["report", "run.json", *options]) == 1
    error = capsys.readouterr().err
    assert error.startswith("fleet-sim: error: ")
    assert reason in error
    assert error.count("\n") == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run.json"]


def test_a_file_that_is_no_run_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other.json").write_text("{}")
    assert main(["report", str(tmp_path / "other.json")]) == 1
    assert "other.json: is not a run file: expected the format 'fleet_sim run 1'" in capsys.readouterr().err


def test_figures_that_nobody_knows_are_shown_by_their_keys(tmp_path: Path) -> None:
    run = read_run(make(tmp_path / "run.json", share_driving=0.25, my_figure=7.0))
    rows = {row.figure.name: row for group in rows_of([run]).values() for row in group}
    assert rows["my_figure"].values == (7.0,)
    assert rows["Driving"].values == (25.0,)


@pytest.mark.parametrize("high", [0.03, 0.9, 1.4, 2.0, 7.0, 42.0, 1e5])
def test_no_two_numbers_along_an_axis_read_alike(high: float) -> None:
    scale = from_zero(high)
    texts = scale.texts("s")
    assert len(set(texts)) == len(texts) > 2
    shown = [float(text.removesuffix(" s").replace("\u202f", "")) for text in texts]
    np.testing.assert_allclose(shown, scale.ticks)
    clock = clock_to(high)
    assert len({clock.text(tick) for tick in clock.scale.ticks}) == len(clock.scale.ticks)


def test_levels_over_time_and_histograms_are_on_the_page_and_kept_in_files(tmp_path: Path) -> None:
    site = Warehouse(rows=2, columns=2).site()
    runs = []
    for waiting in (3, 5):
        found = FigureCollector(site.grid, levels=("orders_open", "orders_waiting"))
        for _ in range(100):
            place = site.grid.positions(site.grid.free_cells[:1])
            found.observe(0.5, np.arange(1), place, np.zeros(1, np.int64), (10, waiting))
        past = np.linspace(-60.0, 40.0, 500)
        path = tmp_path / f"{waiting}.json"
        write_run(path, run_of(str(waiting), {"robots": 1.0}, found, about={}, distributions={"past_due_s": past}))
        run = read_run(path)
        assert (run.levels["orders_waiting"] / np.diff(run.times, prepend=0.0) == waiting).all()
        assert set(run.states) == {state.name for state in found.states}
        runs.append(run)
    page = page_of(runs)
    for heading in ("Open orders", "Orders that waited", "When orders were done"):
        assert heading in page
    assert "3: 3 waiting orders" in page
    assert "5: 5 waiting orders" in page
    # A hundred seconds in bins of five: each has a twentieth.
    assert "3: 5 %" in page
    assert "histogram of past_due_s" in page
    content = json.loads((tmp_path / "3.json").read_text())
    # Files from before levels were kept.
    del content["series"]["level_seconds"]
    (tmp_path / "old.json").write_text(json.dumps(content))
    old = read_run(tmp_path / "old.json")
    assert old.levels == {}
    assert "Open orders" not in page_of([old])
    assert around(-3.0, 7.0).low <= -3.0 < 7.0 <= around(-3.0, 7.0).high
    assert around(5.0, 5.0).high > around(5.0, 5.0).low


# ---- Axes of reports: round numbers that hold all values, and numbers as people read them ----------------------------


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
