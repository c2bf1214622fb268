"""Formats of grid maps: ROS's map_server, MovingAI, LSMART's layouts, the League of Robot Runners."""

from __future__ import annotations

import io
import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import yaml

from fleet_sim.base.arrays import AnyArray, Bools, Bytes, Floats, Ints
from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.base.files import is_file, picture, read_bytes, write_file, write_png
from fleet_sim.base.settings import Checked, read, setting
from fleet_sim.warehouse.sites.grid import MOST_CELLS, Grid, check_size
from fleet_sim.warehouse.sites.reading import LARGEST_FILE, SiteFormat, beside, check_suffix, fail, read_json, read_text
from fleet_sim.warehouse.sites.site import Site, Station, StationKind

log = logging.getLogger(__name__)

FREE_GREY, UNKNOWN_GREY, BLOCKED_GREY = 254, 205, 0
"""What savers of maps write."""


@dataclass
class MapServerConfig(Checked):
    """The settings of a map, under the names of map_server."""

    image: str = setting(doc="The picture, relative to this file: PGM, PNG or another one.")
    resolution: float = setting(above=0, high=1e4, unit="m", doc="Size of a pixel.")
    origin: list[float] = setting(doc="Pose (x, y, yaw) of the lower left pixel's corner, in m and rad.")
    negate: bool = setting(False, doc="White is blocked, and black is free.")
    occupied_thresh: float = setting(0.65, low=0, high=1, doc="Pixels that are darker than this are blocked.")
    free_thresh: float = setting(0.25, low=0, high=1, doc="Pixels that are lighter than this are free.")
    mode: Literal["trinary", "scale", "raw"] = setting("trinary", doc="How pixels are read.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.origin) not in (2, 3):
            raise ConfigError(f"must be [x, y, yaw], got {self.origin!r}", path="origin")


class MapServerFormat(SiteFormat):
    """A map of map_server; what is unknown in it is not free."""

    suffixes = (".yaml", ".yml")
    doc = "map_server map"
    keys = ("image", "resolution")

    def read(self, content: Any, path: Path, level: str | None) -> Site:
        """Return the map as a site; raises ConfigError, and MissingDependencyError for pictures other than PGM."""
        # YAML has no truth values in map_server's files: negate is 0 or 1.
        given = {**content, "negate": bool(content["negate"])} if content.get("negate") in (0, 1) else content
        # Checked by name here, as the settings know no rule between two of them.
        config = read(MapServerConfig, given, source=str(path))
        if config.free_thresh >= config.occupied_thresh:
            fail(path, f"must be below occupied_thresh ({config.occupied_thresh:g})", "free_thresh")
        # Absolute paths are what some tools write; they work as long as the map stays where it is.
        picture = Path(config.image) if Path(config.image).is_absolute() else beside(path, config.image, "image")
        x, y, yaw = [*config.origin, 0.0][:3]
        return Site(path.stem, Grid(_free(_pixels(picture), config, path), config.resolution, (x, y, yaw)))


def _free(pixels: AnyArray, config: MapServerConfig, path: Path) -> Bools:
    """Return which pixels (H, W) are free, of (H, W) grey levels or (H, W, C) colors with or without opacity."""
    layers = pixels[..., None] if pixels.ndim == 2 else pixels
    # An even number of layers means that the last one is opacity.
    opaque = layers[..., -1] == 255 if layers.shape[-1] in (2, 4) else np.ones(layers.shape[:2], bool)
    colors = layers[..., :-1] if layers.shape[-1] in (2, 4) else layers
    grey: Floats = colors.mean(axis=-1)
    if config.mode == "raw":
        # Pixels are occupancies from 0 to 100; anything above is unknown.
        return np.asarray((grey / 100.0 <= config.free_thresh) & (grey <= 100))
    # Dark is occupied, unless the file says otherwise.
    occupancy = grey / 255.0 if config.negate else 1.0 - grey / 255.0
    # What is transparent is unknown, and so is what lies between the thresholds.
    free_mask = np.asarray((occupancy < config.free_thresh) & opaque)
    unknown = int((free_mask & (grey == UNKNOWN_GREY)).sum())
    if unknown:
        # As in Nav2, whose saver of maps writes such thresholds by default.
        log.warning(
            "%s: %d cells have the gray that stands for unknown (%d), but free_thresh %g makes them free, as in Nav2;"
            " set free_thresh: 0.196 to keep them blocked",
            path,
            unknown,
            UNKNOWN_GREY,
            config.free_thresh,
        )
    return free_mask


def _pixels(path: Path) -> AnyArray:
    """Return the pixels of a picture as uint8, (H, W) or (H, W, C); raises ConfigError."""
    try:
        data = read_bytes(path, LARGEST_FILE)
    except InvalidValueError as error:
        raise ConfigError(str(error), source=str(path)) from error
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", source=str(path)) from error
    return _pgm(data, path) if data[:2] in (b"P5", b"P2") else _picture(data, path)


def _pgm(data: bytes, path: Path) -> Bytes:
    """Return the pixels of a PGM file. It is what map_server writes, so it needs no library."""
    words: list[bytes] = []
    place = 2
    while len(words) < 3 and place < len(data):
        end = data.find(b"\n", place) if data[place : place + 1] == b"#" else -1
        if end >= 0:
            place = end + 1
        elif data[place : place + 1].isspace():
            place += 1
        else:
            begin = place
            while place < len(data) and not data[place : place + 1].isspace():
                place += 1
            words.append(data[begin:place])
    if len(words) < 3 or not all(word.isdigit() and len(word) < 8 for word in words):
        fail(path, "it is no readable PGM file: width, height and the largest value are expected first")
    width, height, largest = map(int, words)
    # The product is checked before anything of that size is made.
    if not 1 <= largest <= 255 or not 1 <= width * height <= MOST_CELLS:
        fail(path, f"a PGM file of 1 to {MOST_CELLS} pixels with values up to 255 is expected, got {width} x {height}")
    body = data[place + 1 :]
    if data[:2] == b"P2":
        numbers = body.split()
        if len(numbers) < width * height or not all(_is_level(word, largest) for word in numbers):
            fail(path, f"it has {len(numbers)} pixels, {width * height} are expected")
        pixels = np.array([int(word) for word in numbers[: width * height]], np.uint8)
    else:
        # What follows the pixels is allowed: a PGM file may hold further pictures.
        if len(body) < width * height:
            fail(path, f"it is cut off: {len(body)} of {width * height} pixels are there")
        pixels = np.frombuffer(body, np.uint8, width * height)
    levels = pixels.reshape(height, width)
    # Scaled up to the full range of greys, which the thresholds are shares of.
    return levels if largest == 255 else np.asarray(levels.astype(np.int64) * 255 // largest, np.uint8)


def _is_level(word: bytes, largest: int) -> bool:
    return word.isdigit() and len(word) < 8 and int(word) <= largest


def _picture(data: bytes, path: Path) -> AnyArray:
    """Return the pixels of a map in shades or colors; raises ConfigError for what is no picture, or too large a one."""
    try:
        with picture(io.BytesIO(data), MOST_CELLS) as image:
            # Palettes and others become plain colors; those with opacity keep it.
            return np.asarray(image if image.mode in ("L", "LA", "RGB", "RGBA") else image.convert("RGBA"), np.uint8)
    except InvalidValueError as error:
        raise ConfigError(str(error), source=str(path)) from error


def write_map(grid: Grid, path: str | Path) -> None:
    """Write `grid` to the YAML file `path` and a PNG picture beside it, as map_server and Nav2 load them.

    Of a site only the free space can be written: `site.grid`, or `site.open_grid` without the no-go zones. Raises
    InvalidValueError for anything else, and for a file that does not end in .yaml or .yml.
    """
    check_suffix(path)
    if not isinstance(grid, Grid):
        raise InvalidValueError(f"expected a Grid to write a map from, such as site.grid, got {type(grid).__name__}")
    target = Path(path)
    picture = target.with_suffix(".png")
    grey = np.where(grid.free_mask, FREE_GREY, BLOCKED_GREY).astype(np.uint8)
    # Three equal layers: the writer of PNG files knows colors only.
    write_png(picture, np.repeat(grey[..., None], 3, axis=2))
    text = yaml.safe_dump(
        {
            "image": picture.name,
            "mode": "trinary",
            "resolution": float(grid.cell),
            "origin": [float(value) for value in grid.origin],
            "negate": 0,
            "occupied_thresh": 0.65,
            "free_thresh": 0.25,
        },
        sort_keys=False,
    )
    write_file(target, text)


MAP_SERVER_FORMAT = MapServerFormat()


# Maps and scenarios of the MovingAI benchmarks: `.map` and `.scen`.


FREE = ".GSEe"
BLOCKED = "@OTW"
"""Trees, water and what is out of bounds. Water can be crossed by what floats, which our robots do not."""


class Map(NamedTuple):
    """A map: which cells are free, (H, W), and the letters they were given as, (H, W)."""

    free_mask: Bools
    letters: AnyArray


def read_map(text: str, path: Path) -> Map:
    """Return the map in `text`; raises ConfigError naming the line of `path`."""
    lines = text.splitlines()
    header: dict[str, str] = {}
    start = 0
    for start, line in enumerate(lines):
        words = line.split()
        if words == ["map"]:
            break
        if len(words) == 2 and words[0] in ("type", "height", "width"):
            header[words[0]] = words[1]
        elif words:
            fail(path, f"line {start + 1}: expected `type`, `height`, `width` or `map`, got {line[:60]!r}")
    else:
        fail(path, "it has no line `map`; is this a MovingAI map?")
    height, width = (_size(header, key, path) for key in ("height", "width"))
    rows = lines[start + 1 : start + 1 + height]
    # Checked against the header: a file cut off in transfer is well formed up to its end.
    if len(rows) < height or any(line.strip() for line in lines[start + 1 + height :]):
        given = len(lines) - start - 1
        fail(path, f"it says height {height}, but has {given} rows")
    return map_of(rows, width, path, first_line=start + 2)


def _size(header: dict[str, str], key: str, path: Path) -> int:
    value = header.get(key, "")
    # The length is looked at before the value: int() of a million digits takes seconds.
    if not value.isdecimal() or not 1 <= len(value) <= 7 or int(value) < 1:
        fail(path, f"`{key}` must be a whole number above 0, got {value!r}")
    return int(value)


def map_of(rows: list[str], width: int, path: Path, *, first_line: int = 1, also_free: str = "") -> Map:
    """Return the map in `rows` of `width` letters each; raises ConfigError naming the line."""
    # Before the letters are split: a row of millions would be a list of as many.
    check_size(len(rows), width)
    for index, row in enumerate(rows):
        if len(row) != width:
            fail(path, f"line {first_line + index}: it has {len(row)} letters, {width} are expected")
    letters = np.array([list(row) for row in rows], "U1")
    free = np.isin(letters, list(FREE + also_free))
    # Refused: taken as free or as blocked, a map of another dialect would be silently wrong.
    strange = ~free & ~np.isin(letters, list(BLOCKED))
    if strange.any():
        place = divmod(int(np.flatnonzero(strange)[0]), width)
        known = " ".join(FREE + also_free + BLOCKED)
        where = f"line {first_line + place[0]}, column {place[1] + 1}"
        fail(path, f"{where}: unknown letter {str(letters[place])!r}; known are {known}")
    return Map(free, letters)


def stations_of(
    read: Map, grid: Grid, kinds: Mapping[str, StationKind], *, counted: bool = False
) -> tuple[Station, ...]:
    """Return a station for each cell whose letter is in `kinds`.

    Its name is the letter with the number of its cell, or with its own among the stations where they are `counted`.
    """
    letters = read.letters.ravel()
    cells = np.flatnonzero(np.isin(letters, list(kinds)))
    numbers = range(len(cells)) if counted else cells.tolist()
    places = zip(cells.tolist(), numbers, grid.positions(cells).tolist(), strict=True)
    return tuple(
        Station(f"{letters[cell]}{number}", kinds[str(letters[cell])], x, y) for cell, number, (x, y) in places
    )


class MapFormat(SiteFormat):
    """A MovingAI map."""

    suffixes = (".map",)
    doc = "MovingAI map"

    def read(self, content: Any, path: Path, level: str | None) -> Site:
        """Return the site in the text `content`; raises ConfigError."""
        return Site(path.stem, Grid(read_map(content, path).free_mask))


class ScenFormat(SiteFormat):
    """A MovingAI scenario: a map beside it, with starts and goals."""

    suffixes = (".scen",)
    doc = "MovingAI scenario"

    def read(self, content: Any, path: Path, level: str | None) -> Site:
        """Return the site in the text `content`, with its starts and goals; raises ConfigError."""
        rows = _rows_of_scenario(content, path)
        # The first line names the map; the others are checked against its size.
        map_path = _map_of_scenario(path, rows[0][1][1])
        grid = Grid(read_map(read_text(map_path), map_path).free_mask)
        starts, goals = ends_of_scenario(content, path, grid)
        return Site(path.stem, grid, starts=starts, goals=goals)


def ends_of_scenario(text: str, path: Path, grid: Grid) -> tuple[Ints, Ints]:
    """Return the starts and goals (S,) in `text` as cells of `grid`; raises ConfigError naming the line."""
    rows = _rows_of_scenario(text, path)
    return _cells(path, grid, rows, 4), _cells(path, grid, rows, 6)


def _rows_of_scenario(text: str, path: Path) -> list[tuple[int, list[str]]]:
    """Return the number of each line with a task, and its words."""
    lines = [line.split() for line in text.splitlines()]
    # The first line names the version, and only in newer files.
    rows = [(number, words) for number, words in enumerate(lines, 1) if words and words[0] != "version"]
    if not rows:
        fail(path, "it has no tasks")
    for number, words in rows:
        if len(words) != 9:
            fail(path, f"line {number}: expected 9 values (bucket, map, width, ...), got {len(words)}")
    return rows


def _cells(path: Path, grid: Grid, rows: list[tuple[int, list[str]]], column: int) -> Ints:
    """Return the cells at the x in `column` and the y behind it."""
    cells = []
    for number, words in rows:
        try:
            width, height, x, y = (int(words[index]) for index in (2, 3, column, column + 1))
        except ValueError:
            fail(path, f"line {number}: expected whole numbers, got {' '.join(words)[:80]!r}")
        if (width, height) != (grid.width, grid.height):
            fail(path, f"line {number}: it is for a map of {width} x {height}, not {grid.width} x {grid.height}")
        if not (0 <= x < width and 0 <= y < height):
            fail(path, f"line {number}: ({x}, {y}) is outside of the map")
        # Row by row from the top, as the letters are.
        cells.append(y * width + x)
    return np.array(cells, np.int64)


def _map_of_scenario(path: Path, name: str) -> Path:
    """Return the map that a scenario names: below its folder, or beside it, as archives are unpacked in either way."""
    for folder in (path.parent, path.parent.parent):
        for candidate in (folder / name, folder / Path(name).name):
            if is_file(candidate):
                return candidate
    fail(path, f"its map {name!r} is neither beside it nor in the folder above")


MAP, SCEN = MapFormat(), ScenFormat()


# Maps as LSMART and other tools for warehouses write them: JSON with the rows of a `layout`.


STATIONS = {"w": StationKind.WORKSTATION, "e": StationKind.PICK, "r": StationKind.PARK}
"""What letters stand for: where people pack, where goods are taken from a shelf, and where robots start."""


class LayoutFormat(SiteFormat):
    """A JSON file with `layout`, a list of rows, as LSMART has it."""

    suffixes = (".json",)
    doc = "LSMART map"
    keys = ("layout",)

    def unused(self, content: Any) -> dict[str, list[str]]:
        """Return the keys beside the layout, its size and its name."""
        names = sorted(set(map(str, content)) - {"layout", "n_row", "n_col", "name"})
        return {"": names} if names else {}

    def read(self, content: Any, path: Path, level: str | None) -> Site:
        """Return the site of the rows; raises ConfigError."""
        rows = content["layout"]
        if not isinstance(rows, list) or not rows or not all(isinstance(row, str) and row for row in rows):
            fail(path, "must be a list of rows of letters", "layout")
        for key, size in (("n_row", len(rows)), ("n_col", len(rows[0]))):
            if content.get(key, size) != size:
                fail(path, f"is {content[key]!r}, but the layout has {size}", key)
        read = map_of(rows, len(rows[0]), path, also_free="".join(STATIONS))
        grid = Grid(read.free_mask)
        # LSMART itself has no names for them, so they are counted over all kinds.
        stations = stations_of(read, grid, STATIONS, counted=True)
        name = content.get("name", path.stem)
        return Site(str(name), grid, stations=stations)


LAYOUT_FORMAT = LayoutFormat()


# Problems of the League of Robot Runners: a JSON file that names a map, agents and tasks.


ROBOT_RUNNERS_STATIONS = {"E": StationKind.WORKSTATION, "S": StationKind.PICK}
"""What letters of the maps stand for: where goods come and go, and where they are stored."""


TICK = 0.1
"""Seconds of a tick of the League's simulator."""
QUARTER = 0.5 * math.pi
LARGEST_TEAM, LONGEST = 1_000_000, 100_000
FOR_RUNS = ("taskAssignmentStrategy", "numTasksReveal", "agentSize", "agentCounter", "delayConfig")
"""What a run of the whole problem keeps, beside the map, the starts and the tasks."""


@dataclass
class DelayConfig(Checked):
    """Delays of a problem of 2026, in ticks."""

    seed: int = setting(0, low=0, high=2**62, doc="Of the delays.")
    minDelay: int = setting(1, low=1, high=LONGEST, doc="The shortest delay, in ticks.")
    maxDelay: int = setting(1, low=1, high=LONGEST, doc="The longest delay, in ticks.")
    eventModel: Literal["bernoulli", "poisson"] = setting("bernoulli", doc="How robots are drawn in a tick.")
    pDelay: float = setting(0.0, low=0.0, high=1.0, doc="Of a robot that is not delayed, in each tick.")
    durationModel: Literal["uniform", "gaussian"] = setting("uniform", doc="How long delays are.")
    gaussMeanRatio: float = setting(0.5, low=0.0, high=1.0, doc="The mean, as a share of the range.")
    gaussStdRatio: float = setting(0.0, low=0.0, high=100.0, doc="The standard deviation, as such a share.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.maxDelay < self.minDelay:
            raise InvalidValueError(f"maxDelay: expected at least minDelay, {self.minDelay}, got {self.maxDelay}")


@dataclass
class LeagueProblem(Checked):
    """A problem of the League of Robot Runners, as its file has it; see `Input_Output_Format.md` of its Start-Kit."""

    mapFile: str = setting(doc="The map, relative to this file.")
    agentFile: str | None = setting(None, doc="Where robots start.")
    taskFile: str | None = setting(None, doc="The tasks.")
    teamSize: int | None = setting(None, low=1, high=LARGEST_TEAM, doc="How many robots; null: all of the agent file.")
    version: str | None = setting(None, doc="Of the format, such as 2026 LoRR; what holds follows from the keys.")
    taskAssignmentStrategy: Literal["roundrobin", "greedy"] | None = setting(None, doc="2023: who does which task.")
    numTasksReveal: float | None = setting(
        None, above=0.0, high=1e6, doc="Tasks that are known at a time, as a multiple of the robots."
    )
    agentSize: float | None = setting(
        None, above=0.0, high=1.0, doc="2026: side of the square around a robot that nothing may enter, in cells."
    )
    agentCounter: int | None = setting(
        None, low=1, high=LONGEST, doc="2026: ticks that a robot takes for a cell, and for a quarter turn."
    )
    delayConfig: DelayConfig | None = setting(None, doc="2026: robots that stand for a while.")

    def __post_init__(self) -> None:
        super().__post_init__()
        # What the Start-Kit takes where a file of 2026 leaves it out.
        if self.is_timed:
            self.agentSize = 1.0 if self.agentSize is None else self.agentSize
            self.agentCounter = 10 if self.agentCounter is None else self.agentCounter
        if self.taskAssignmentStrategy is not None and self.numTasksReveal not in (None, 1.0):
            raise InvalidValueError(
                f"numTasksReveal: expected 1 beside taskAssignmentStrategy, got {self.numTasksReveal:g}: planners know"
                " one task of each robot; remove one of the two keys"
            )

    @property
    def is_timed(self) -> bool:
        """Whether it says how large and fast robots are, as problems of 2026 do."""
        return (self.agentSize, self.agentCounter, self.delayConfig) != (None, None, None) or "2026" in (
            self.version or ""
        )

    @property
    def revealed(self) -> float | None:
        """How many tasks are known at a time, as a multiple of the robots; None where each robot is given its own."""
        if self.taskAssignmentStrategy is not None:
            return None
        return 1.0 if self.numTasksReveal is None and self.is_timed else self.numTasksReveal


def read_problem(path: Path, content: Any = None) -> LeagueProblem:
    """Return the problem in `path`, whose parsed `content` may be given; raises ConfigError for keys that it does not
    know, and values that cannot be kept."""
    return read(LeagueProblem, read_json(path) if content is None else content, source=str(path))


class RobotRunnersFormat(SiteFormat):
    """A problem of the League of Robot Runners; its tasks are read by `read_tasks`."""

    suffixes = (".json",)
    doc = "League of Robot Runners problem"
    keys = ("mapFile",)

    def unused(self, content: Any) -> dict[str, list[str]]:
        """Return what the file says of robots and tasks."""
        names = [key for key in content if key in FOR_RUNS]
        return {"": names} if names else {}

    def read(self, content: Any, path: Path, level: str | None) -> Site:
        """Return the map as a site, with the agents' cells as starts; raises ConfigError."""
        problem = read_problem(path, content)
        map_path = beside(path, problem.mapFile, "mapFile")
        read = read_map(read_text(map_path), map_path)
        grid = Grid(read.free_mask)
        starts = np.empty(0, np.int64)
        if problem.agentFile is not None:
            starts = self._starts(problem.agentFile, problem.teamSize, path, grid)
        return Site(path.stem, grid, stations=stations_of(read, grid, ROBOT_RUNNERS_STATIONS), starts=starts)

    @staticmethod
    def _starts(agent_file: str, team: int | None, path: Path, grid: Grid) -> Ints:
        """Return the cells where the robots of the team start; raises ConfigError for a team that is too large."""
        agents = beside(path, agent_file, "agentFile")
        cells = np.array([row[0] for row in read_rows(agents, grid.count, most=1)], np.int64)
        # Without a size the team is all agents.
        size = len(cells) if team is None else team
        if size > len(cells):
            fail(
                path,
                f"must be a whole number from 1 to {len(cells)}, the agents in {agents.name}, got {size!r}",
                "teamSize",
            )
        return cells[:size]


def read_tasks(path: str | Path, grid: Grid) -> list[list[int]]:
    """Return the tasks of the problem in `path`: for each its cells in the order of visits; raises ConfigError.

    Cells that are not free are refused, as robots cannot go there.
    """
    problem = Path(path)
    # No file is named where there are no tasks; `beside` refuses that.
    tasks = beside(problem, read_problem(problem).taskFile, "taskFile")
    rows = read_rows(tasks, grid.count)
    # All at once: there are files with half a million tasks.
    cells = np.fromiter(chain.from_iterable(rows), np.int64)
    bad = np.flatnonzero(~grid.is_free(cells))
    if len(bad):
        # From the cell among all of them back to the task that it is of.
        index = int(np.searchsorted(np.cumsum([len(row) for row in rows]), bad[0], side="right"))
        fail(tasks, f"task {index}: it goes to a cell that is not free: {rows[index][:10]}")
    return rows


def read_rows(path: Path, cells: int, *, most: int = 1000) -> list[list[int]]:
    """Return the rows of cells behind the count in the first line; raises ConfigError naming the line."""
    lines = [
        (number, line.strip())
        for number, line in enumerate(read_text(path).splitlines(), 1)
        if line.strip() and not line.startswith("#")
    ]
    if not lines or not lines[0][1].isdecimal():
        fail(path, "its first line must be the number of rows")
    # Twelve digits at most: int() of a million digits takes seconds.
    count = int(lines[0][1][:12])
    if len(lines) - 1 < count:
        fail(path, f"it says {count} rows, but has {len(lines) - 1}")
    rows = []
    for number, line in lines[1 : count + 1]:
        words = line.split(",")
        # The length is looked at before the value, for the same reason.
        if len(words) > most or not all(word.strip().isdecimal() and len(word) < 12 for word in words):
            fail(path, f"line {number}: expected cells as whole numbers, at most {most}, got {line[:60]!r}")
        row = [int(word) for word in words]
        if max(row) >= cells:
            fail(path, f"line {number}: cell {max(row)} is outside of the map, which has {cells} cells")
        rows.append(row)
    return rows


ROBOT_RUNNERS_FORMAT = RobotRunnersFormat()
