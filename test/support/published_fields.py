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


def everything(folder: Path) -> dict[str, Any]:
    """Return a scenario in which a node offers every kind of topic that it has."""
    from ros_scene import scenario

    made = scenario(0.05)
    made["ros"]["nav2"] = {"enabled": True}
    made["robots"].append({"name": "wrist", "urdf_path": "arm_robot", "pose": [30.0, 9.0, 0.0], "use_fixed_base": True})
    return made


def ros_fields(folder: Path) -> set[str]:
    """Return the fields of all messages that the node publishes, and of feedback and results of its actions."""
    import yaml
    from hosted_node import hosted_node

    path = folder / "everything.yaml"
    path.write_text(yaml.safe_dump(everything(folder)), encoding="utf-8")
    fields: set[str] = set()
    with hosted_node("-p", f"config:={path}", "-p", "target_rtf:=0.0") as node:
        for topic, kinds in node.get_topic_names_and_types():
            if "/_action/" in topic or not node.get_publishers_info_by_topic(topic):
                continue
            for kind in kinds:
                package, _, name = kind.split("/")
                fields |= fields_of_type(f"{package}/{name}", getattr(import_module(f"{package}.msg"), name))
        from fleet_sim.ros.actions.kinds import KINDS

        for one in KINDS.all().values():
            package, name = one.type.__module__.split(".")[0], one.type.__name__
            fields |= fields_of_type(f"{package}/{name}", one.type.Result)
            fields |= fields_of_type(f"{package}/{name}_Feedback", one.type.Feedback)
    return fields
