"""Descriptions of robots with mimic joints, written for a test."""

from __future__ import annotations

from pathlib import Path

_LINK = """<link name="{name}"><inertial><mass value="{mass}"/><origin xyz="0.1 0 0"/>
  <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
_JOINT = """<joint name="{name}" type="{kind}"><parent link="base"/><child link="{name}_link"/><origin xyz="0 {y} 0"/>
  <axis xyz="0 0 1"/>{limit}{mimic}</joint>"""
LIMIT = '<limit lower="-2" upper="2" effort="50" velocity="1"/>'


def mimic_file(folder: Path, *joints: tuple[str, str, str], name: str = "gripper") -> str:
    """Write a robot with joints (name, type, <mimic> element or "") side by side on its base; return the file."""
    parts = [_LINK.format(name="base", mass=5)]
    for index, (joint, kind, mimic) in enumerate(joints):
        limit = LIMIT if kind in ("revolute", "prismatic") else ""
        parts.append(_LINK.format(name=f"{joint}_link", mass=0.5))
        parts.append(_JOINT.format(name=joint, kind=kind, y=0.5 * index, limit=limit, mimic=mimic))
    file = folder / f"{name}.urdf"
    file.write_text(f'<robot name="{name}">{"".join(parts)}</robot>')
    return str(file)


def mimics(joint: str, multiplier: float | None = None, offset: float | None = None) -> str:
    """Return a <mimic> element."""
    given = {"multiplier": multiplier, "offset": offset}
    numbers = "".join(f' {key}="{value}"' for key, value in given.items() if value is not None)
    return f'<mimic joint="{joint}"{numbers}/>'
