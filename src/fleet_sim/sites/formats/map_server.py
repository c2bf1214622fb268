"""Maps of ROS's map_server: a YAML file beside a picture. They are read, and written as Nav2 loads them."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import yaml

from fleet_sim.arrays import AnyArray, Bools, Bytes, Floats
from fleet_sim.errors import ConfigError, InvalidValueError, missing_extra
from fleet_sim.images import write_png
from fleet_sim.output import replacing
from fleet_sim.settings import Checked, read, setting
from fleet_sim.sites.formats.site_format import LARGEST_FILE, SiteFormat, beside, check_suffix, fail
from fleet_sim.sites.grid import MOST_CELLS, Grid
from fleet_sim.sites.site import Site

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
        if path.stat().st_size > LARGEST_FILE:
            fail(path, f"has {path.stat().st_size} bytes, at most {LARGEST_FILE} are read")
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", source=str(path)) from error
    return _pgm(data, path) if data[:2] in (b"P5", b"P2") else _picture(path)


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


def _picture(path: Path) -> AnyArray:
    """Return the pixels of a map in shades or colors; raises ConfigError for what is no picture, or too large a one."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise missing_extra("PIL", "camera", f"reading {path.suffix or path.name} pictures") from error
    try:
        with Image.open(path) as picture:
            if picture.width * picture.height > MOST_CELLS:
                fail(path, f"{picture.width} x {picture.height} pixels are too many; at most {MOST_CELLS} are read")
            # Palettes and others become plain colors; those with opacity keep it.
            whole = picture if picture.mode in ("L", "LA", "RGB", "RGBA") else picture.convert("RGBA")
            return np.asarray(whole, np.uint8)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise ConfigError(f"it is no readable picture: {error}", source=str(path)) from error


def write_map(grid: Grid, path: str | Path) -> None:
    """Write `grid` to the YAML file `path` and a PNG picture beside it, as map_server and Nav2 load them.

    Of a site only the free space can be written: `site.grid`, or `site.open_grid` without the no-go zones. Raises
    InvalidValueError for anything else, and for a file that does not end in .yaml or .yml.
    """
    check_suffix(path)
    if not isinstance(grid, Grid):
        raise InvalidValueError(f"a map is written of a Grid, such as site.grid, got {type(grid).__name__}")
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
    with replacing(target) as part:
        part.write_text(text, encoding="utf-8")


FORMAT = MapServerFormat()
