"""A simulation is made of objects that know only what they were given."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import fleet_sim as fs
from fleet_sim.facade.documented import DocumentedNames
from fleet_sim.facade.documented_view import ViewNames
from fleet_sim.facade.documented_world import Assignments, WorldNames

FACADE = Path(inspect.getfile(DocumentedNames)).parent
FILES = [*sorted(FACADE.glob("*.py")), FACADE.parent / "simulation.py"]
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
# The documented methods of a simulation, in three files by subject; each only calls the object that does the work.
DOCUMENTED = (DocumentedNames, ViewNames, WorldNames)
CLASSES = [node for tree in TREES.values() for node in tree.body if isinstance(node, ast.ClassDef)]


def methods(cls: ast.ClassDef) -> list[ast.FunctionDef]:
    return [node for node in cls.body if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize(
    "cls", [cls for cls in CLASSES if cls.name not in {base.__name__ for base in DOCUMENTED}], ids=lambda cls: cls.name
)
def test_a_part_has_few_public_methods(cls: ast.ClassDef) -> None:
    assert len([method for method in methods(cls) if not method.name.startswith("_")]) <= 25


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_private_names_stay_with_their_owner(path: Path) -> None:
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            assert ast.unparse(node.value) in ("self", "cls"), f"{path}:{node.lineno}: {ast.unparse(node)}"


def test_a_simulation_inherits_nothing_but_documented_methods() -> None:
    # Besides them only the rule for what may be assigned.
    assert fs.MultiRobotSimulationCore.__mro__ == (fs.MultiRobotSimulationCore, *DOCUMENTED, Assignments, object)


@pytest.mark.parametrize("name", [base.__name__ for base in DOCUMENTED])
def test_a_documented_method_is_one_line(name: str) -> None:
    (documented,) = [cls for cls in CLASSES if cls.name == name]
    for method in methods(documented):
        if any(ast.unparse(decorator) == "overload" for decorator in method.decorator_list):
            continue
        assert ast.get_docstring(method), method.name
        assert len(method.body) == 2, f"{method.name} does something itself; that belongs to a part"


def test_services_by_subject_and_documented_names_are_the_same(sim: fs.MultiRobotSimulationCore) -> None:
    agent = sim.population.spawn(fs.AgentSpawnParams(name="a"))
    assert sim.agents == sim.population.agents == [agent]
    sim.control.pause()
    assert sim.is_paused
    sim.runner.single_step(2)
    assert sim.step_count == 2
    saved = sim.state.save()
    sim.resume()
    sim.step_once()
    sim.restore_state(saved)
    assert (sim.step_count, sim.state.hash()) == (2, sim.state_hash())
    assert sim.monitor.figures().steps == 2
    assert sim.collision_queries.active_pairs() == sim.get_active_collision_pairs() == []
