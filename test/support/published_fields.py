"""The numbers that leave the program, by their names in `oracle_rows`: one enumerator for each way out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

_NUMBER = re.compile(r"^(boolean|bool|octet|byte|float|double|u?int(8|16|32|64))\b")
_ARRAY = re.compile(r"^(?:sequence<(?P<inner>[^,>]+(?:<\d+>)?)(?:, *\d+)?>|(?P<item>[^\[]+)\[\d*\])$")


def number_paths(kind: Any) -> Iterator[str]:
    """Yield the path of each number in a message type; arrays count as one."""
    for field, text in kind.get_fields_and_field_types().items():
        found = _ARRAY.match(text)
        inner = (found["inner"] or found["item"]) if found else text
        if _NUMBER.match(inner):
            yield field
        elif "/" in inner:
            package, name = inner.split("/")[0], inner.split("/")[-1]
            yield from (f"{field}.{path}" for path in number_paths(getattr(import_module(f"{package}.msg"), name)))


def fields_of_type(name: str, kind: Any) -> set[str]:
    """Return the fields "ros:<name>.<path>" of a message type."""
    return {f"ros:{name}.{path}" for path in number_paths(kind)}


def ros_fields(folder: Path) -> set[str]:
    """Return the fields of all messages that the node publishes, and of feedback and results of its actions."""
    from ros_scene import scenario

    from fleet_sim.ros.action_kinds import KINDS

    made = scenario(0.05)
    made["ros"]["nav2"] = {"enabled": True}
    fields = published(folder, made)
    for one in KINDS.all().values():
        package, name = one.type.__module__.split(".")[0], one.type.__name__
        fields |= fields_of_type(f"{package}/{name}", one.type.Result)
        fields |= fields_of_type(f"{package}/{name}_Feedback", one.type.Feedback)
    return fields


def rmf_fields(folder: Path) -> set[str]:
    """Return the fields of all messages of Open-RMF that the node publishes."""
    building = Path(__file__).parents[2] / "config" / "sites" / "maps" / "two_floors.building.yaml"
    made = {"building": {"map": str(building)}, "ros": {"rmf": {"enabled": True}, "groups": ["state"]}}
    return {field for field in published(folder, made) if field.startswith("ros:rmf_")}


def published(folder: Path, scenario: dict[str, Any]) -> set[str]:
    """Return the fields of the messages that a node with a scenario publishes."""
    import yaml
    from hosted_node import hosted_node

    path = folder / "everything.yaml"
    path.write_text(yaml.safe_dump(scenario), encoding="utf-8")
    fields: set[str] = set()
    with hosted_node("-p", f"config:={path}", "-p", "target_rtf:=0.0") as node:
        for topic, kinds in node.get_topic_names_and_types():
            # A client of a test before this one may still be seen in its domain.
            publishers = {one.node_name for one in node.get_publishers_info_by_topic(topic)}
            if "/_action/" in topic or node.get_name() not in publishers:
                continue
            for kind in kinds:
                package, _, name = kind.split("/")
                fields |= fields_of_type(f"{package}/{name}", getattr(import_module(f"{package}.msg"), name))
    return fields
