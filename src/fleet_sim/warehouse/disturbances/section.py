"""The section `disturbances` of a scenario: what is disturbed, when, and for how long."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import ConfigError, FleetSimError, InvalidValueError, brief, located, unknown_name
from fleet_sim.base.limits import LONGEST_TIME
from fleet_sim.base.registry import Registry, subclasses_of
from fleet_sim.base.scenario import Section
from fleet_sim.base.settings import Checked, object_schema, read, setting
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.disturbances.kind import Aim, DisturbanceKind
from fleet_sim.warehouse.sites.site import Zone, ZoneKind
from fleet_sim.world.clock import Duration, duration_setting
from fleet_sim.world.conditions import CONDITIONS


def _ours() -> dict[str, type[DisturbanceKind]]:
    # Imported here: nobody loads them before a kind is looked up.
    from fleet_sim.warehouse.disturbances import kind as places
    from fleet_sim.warehouse.disturbances import kind as robots
    from fleet_sim.warehouse.disturbances import localization, radio

    return {
        "breakdown": robots.Breakdown,
        "localization": localization.LocalizationTrouble,
        "radio": radio.RadioTrouble,
        "slow": robots.Slow,
        "emergency_stop": robots.EmergencyStopped,
        "manual": robots.Manual,
        "action_failure": robots.ActionFailure,
        "battery_fault": robots.BatteryFault,
        "silent": robots.Silent,
        "reboot": robots.Reboot,
        "closed": places.ClosedArea,
        "station_blocked": places.StationBlocked,
        "station_closed": places.StationClosed,
        "station_slow": places.StationSlow,
        "door_stuck": places.DoorStuck,
        "lift_stuck": places.LiftStuck,
    }


DISTURBANCES: Registry[type[DisturbanceKind]] = Registry(
    "disturbance", subclasses_of(DisturbanceKind), group="fleet_sim.disturbance", built_in=_ours
)
"""The kinds by the name in `kind:`."""


# Entries.


ALL = "all"
_is_pattern = re.compile(r"[*?[]").search
_CLOCK = r"([01]?\d|2[0-3]):([0-5]\d)(:[0-5]\d)?"
DAY = 86_400.0


def _clock_time(value: object) -> float | None:
    found = re.fullmatch(_CLOCK, value) if isinstance(value, str) else None
    return (
        None if found is None else float(sum(60 ** (2 - i) * int(part) for i, part in enumerate(found[0].split(":"))))
    )


def _read_day_starts(value: object) -> str:
    if _clock_time(value) is None:
        raise InvalidValueError(f"expected a time of day such as '08:00', got {brief(value)}")
    return str(value)


def _read_times(value: object) -> list[float | str] | None:
    """Return times: seconds of the run as numbers, times of day as texts."""
    if value is None:
        return None
    times: list[Any] = list(value) if isinstance(value, (list, tuple)) else [value]
    for time in times:
        seconds = isinstance(time, (int, float)) and not isinstance(time, bool) and 0.0 <= time <= LONGEST_TIME
        if not (seconds or _clock_time(time) is not None):
            raise InvalidValueError(
                f"expected seconds of the run, a time of day such as '10:30', or a list of these, got {brief(time)}"
            )
    if not times:
        raise InvalidValueError("expected at least one time")
    return times


def _read_names(value: object) -> list[str]:
    names = [value] if isinstance(value, str) else value
    if isinstance(names, (list, tuple)) and names and all(isinstance(name, str) and name for name in names):
        return list(names)
    raise InvalidValueError(f"expected a name or a list of names; * stands for any characters, got {brief(value)}")


def _read_area(value: object) -> Any:
    """Return the corners (K, 2) of an area as lists."""
    try:
        return None if value is None else Zone("area", ZoneKind.NO_GO, value).corners.tolist()  # type: ignore[arg-type]
    except (FleetSimError, ValueError, TypeError) as error:
        raise InvalidValueError(f"expected at least three corners [x, y] in m, got {brief(value)}") from error


_TIME: dict[str, Any] = {
    "anyOf": [
        {"type": "number", "minimum": 0, "maximum": LONGEST_TIME},
        {"type": "string", "pattern": f"^{_CLOCK}$(?!\\n)"},
    ]
}
_NAMES: dict[str, Any] = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
_POINT: dict[str, Any] = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
_AREA: dict[str, Any] = {"anyOf": [{"type": "null"}, {"type": "array", "items": _POINT, "minItems": 3}]}


@dataclass
class EntrySettings(Checked):
    """When it happens, to whom, and for how long: what the entries of all kinds have."""

    kind: str = setting(doc="What happens: one of the kinds, or the dotted path of a class of your own.")
    name: str = setting(
        "", doc="Its own name; random numbers follow from it. Empty: they follow from all of the entry."
    )
    at: Any = setting(
        None,
        reader=_read_times,
        schema={"anyOf": [{"type": "null"}, *_TIME["anyOf"], {"type": "array", "items": _TIME, "minItems": 1}]},
        doc="Times: seconds of the run, or of the day such as '10:30'; without `per_hour` null is the beginning.",
    )
    day_starts: str = setting(
        "00:00", reader=_read_day_starts, schema=_TIME["anyOf"][1], doc="The time of day at which the run begins."
    )
    per_hour: float | None = setting(
        None, above=0.0, high=3.6e6, doc="How often by chance, for each target while it is not disturbed by this entry."
    )
    lasts: Duration | None = duration_setting(
        None, doc="How long: seconds, or by distribution; null: to the end of the run."
    )
    robots: Any = setting(ALL, reader=_read_names, schema=_NAMES, doc="Robots by name, as in amr*; all: each.")
    area: Any = setting(None, reader=_read_area, schema=_AREA, doc="Corners [x, y] in m: only robots that are inside.")
    stations: Any = setting(ALL, reader=_read_names, schema=_NAMES, doc="Stations by name.")
    doors: Any = setting(ALL, reader=_read_names, schema=_NAMES, doc="Doors by name.")
    lifts: Any = setting(ALL, reader=_read_names, schema=_NAMES, doc="Lifts by name.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.at is not None and self.per_hour is not None:
            raise InvalidValueError("per_hour: give times (`at`) or how often it happens (`per_hour`), not both")

    def times(self) -> list[float]:
        """Return when it happens, in s of the run; times of day before its beginning are of the next day."""
        given = [0.0] if self.at is None else self.at
        starts = _clock_time(self.day_starts) or 0.0
        return sorted(
            float(time) if not isinstance(time, str) else ((_clock_time(time) or 0.0) - starts) % DAY for time in given
        )

    def names(self, aim: Aim) -> list[str]:
        """Return the names, or patterns of names, that it is aimed at."""
        return [] if aim is Aim.AREA else list(getattr(self, aim.value))


class Entry(NamedTuple):
    """An entry that was read: `label` names it, `key_text` is what its random numbers follow from."""

    label: str
    settings: EntrySettings
    kind: DisturbanceKind
    kind_name: str
    key_text: str
    given: dict[str, Any]
    area: Zone | None

    @property
    def aim(self) -> Aim:
        """What it is aimed at."""
        return type(self.kind).aim

    def contains(self, place: Floats) -> bool:
        """Return whether a place (x, y, ...) is in its area; all are where it has none."""
        return self.area is None or bool(self.area.contains(place[None, :2])[0])

    def matches(self, name: str) -> bool:
        """Return whether it is aimed at what is called `name`."""
        given = self.settings.names(self.aim)
        return ALL in given or name in given or any(_is_pattern(one) and fnmatchcase(name, one) for one in given)


_TARGETS = {aim.value for aim in Aim} - {Aim.AREA.value}


def read_entry(given: object, label: str, *, source: str = "", path: str = "", remote: bool = False) -> Entry:
    """Return the entry `given`; raises ConfigError below `path`. A `remote` one names no class by a dotted path."""
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"must be a mapping such as {{kind: breakdown, ...}}, got {brief(given)}", path=path, source=source
        )
    with located(path, source=source):
        if not isinstance(given.get("kind"), str):
            raise ConfigError(
                f"expected one of {', '.join(DISTURBANCES.names())}, got {brief(given.get('kind'))}", path="kind"
            )
        with located("kind"):
            cls = (DISTURBANCES.get if remote else DISTURBANCES.find)(given["kind"])
        common = {key: value for key, value in given.items() if key in _COMMON}
        settings = read(EntrySettings, common)
        aim = cls.aim
        for key in sorted((_TARGETS - {aim.value}) & set(common)):
            raise ConfigError(f"a {given['kind']} is aimed at {aim.value}, not at {key}", path=key)
        if common.get("area") is not None and aim not in (Aim.ROBOTS, Aim.AREA):
            raise ConfigError(f"a {given['kind']} is aimed at {aim.value} by name, not at an area", path="area")
        if settings.area is None and aim is Aim.AREA:
            raise ConfigError(f"a {given['kind']} needs one: corners [x, y] in m", path="area")
        kind = read(cls, {key: value for key, value in given.items() if key not in _COMMON})
        area = None if settings.area is None else Zone("area", ZoneKind.NO_GO, np.array(settings.area))
        plain = dict(given)
        text = settings.name or json.dumps(plain, sort_keys=True, default=str)
        return Entry(settings.name or label, settings, kind, given["kind"], text, plain, area)


_COMMON = set(EntrySettings.__dataclass_fields__)


def read_entries(given: object, *, source: str = "") -> list[Entry]:
    """Return all entries of a section; raises ConfigError naming entry and field."""
    if given is None:
        return []
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise ConfigError(f"must be a list of entries, got {brief(given)}", path=CONDITIONS, source=source)
    entries: list[Entry] = []
    texts, names = Counter[str](), set[str]()
    for index, item in enumerate(given):
        path = f"{CONDITIONS}[{index}]"
        kind = item.get("kind") if isinstance(item, Mapping) else ""
        entry = read_entry(item, f"{kind}_{index}", source=source, path=path)
        if entry.label in names:
            raise ConfigError(f"another entry is called {entry.label!r}", path=f"{path}.name", source=source)
        names.add(entry.label)
        # Equal entries draw numbers of their own; to take one of others away changes none of theirs.
        entries.append(entry._replace(key_text=f"{entry.key_text}\n{texts[entry.key_text]}"))
        texts[entry.key_text] += 1
    return entries


def check_targets(sim: MultiRobotSimulationCore, entry: Entry, names: Collection[str]) -> None:
    """Raise ConfigError for a name that is none of `names`, the things that the entry's kind is aimed at."""
    aim = entry.aim
    for pattern in entry.settings.names(aim):
        if pattern != ALL and pattern not in names and not any(fnmatchcase(name, pattern) for name in names):
            # Robots may be spawned later, those with a pattern too.
            if aim is Aim.ROBOTS and (not names or "*" in pattern):
                continue
            raise ConfigError.of(unknown_name(aim.value[:-1], pattern, names)).within(aim.value)
    with located(""):
        entry.kind.check(sim)


class DisturbancesSection(Section[MultiRobotSimulationCore]):
    """Adds the disturbances of a scenario to its simulation."""

    of_all = True
    doc = "What goes wrong: breakdowns, closed places and others, at given times or by chance from the seed."

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of a list of entries of all kinds."""
        common = object_schema(EntrySettings)
        items = []
        for name, cls in DISTURBANCES.all().items():
            own = object_schema(cls)
            left_out = _TARGETS - {cls.aim.value}
            properties = {key: value for key, value in common["properties"].items() if key not in left_out}
            items.append(
                {
                    **own,
                    "properties": {**properties, **own.get("properties", {}), "kind": {"const": name}},
                    "required": ["kind", *own.get("required", ())],
                }
            )
        return {"anyOf": [{"type": "null"}, {"type": "array", "items": {"anyOf": items}}]}

    def check(self, entry: Any, *, source: str = "") -> None:
        """Raise ConfigError naming the entry and its field."""
        read_entries(entry, source=source)

    def open(self, sim: MultiRobotSimulationCore, entry: Any, *, source: str = "") -> None:
        """Begin with the disturbances of the section."""
        entries = read_entries(entry, source=source)
        if entries:
            sim.features.use(CONDITIONS).add(entries, source=source)


SECTION = DisturbancesSection()
