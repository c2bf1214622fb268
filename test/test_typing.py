"""What type checkers and editors know of the public names."""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.machinery import ModuleSpec, SourcelessFileLoader
from pathlib import Path

import pytest
from pages import blocks

from fleet_sim.base.exports import lazy

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "fleet_sim"
LAZY = sorted(
    ".".join(path.parent.relative_to(SOURCE.parent).parts)
    for path in SOURCE.rglob("__init__.py")
    if "lazy(globals()" in path.read_text(encoding="utf-8")
)

ABSTRACT = """
from abc import ABC, abstractmethod
from fleet_sim.base.registry import Registry, subclasses_of

class Planner(ABC):
    @abstractmethod
    def plan(self) -> float: ...

PLANNERS = Registry("planner", subclasses_of(Planner))
reveal_type(PLANNERS["a_star"])

@PLANNERS.register("straight")
class Straight(Planner):
    def plan(self) -> float:
        return 0.0

reveal_type(Straight.plan)
PLANNERS.register("number", int)
"""


USER_CODE = """
import fleet_sim as fs

class Counter(fs.SimPlugin):
    def on_step(self, dt: float) -> None:
        reveal_type(self.sim.agents)

class Battery(fs.AgentPlugin):
    def on_update(self, dt: float) -> None:
        reveal_type(self.agent.is_moving)

class Still(fs.AgentController):
    def compute(self, agent: fs.Agent, dt: float) -> None:
        agent.set_velocty(0.0)

def each_step(sim: fs.MultiRobotSimulationCore, dt: float) -> None: ...
def of_agent(agent: fs.Agent, dt: float) -> None: ...

sim = fs.MultiRobotSimulationCore()
reveal_type(sim.register_plugin(Counter))
reveal_type(sim.agents[0].add_plugin(Battery, {"charge": 1.0}))
reveal_type(sim.agents[0].get_plugin(Battery))
sim.register_callback(each_step)
sim.register_callback(lambda sim, dt: sim.pausee())
sim.agents[0].register_callback(of_agent)
sim.agents[0].register_callback(each_step)
reveal_type(sim.spawn(fs.AgentSpawnParams()))
reveal_type(sim.spawn(fs.SimObjectSpawnParams()))
"""
MISSPELT = """import fleet_sim as fs
from fleet_sim import Agnet
from fleet_sim.swarm import Controler
fs.Simulation
"""
PACKAGES = ("fleet_sim", "fleet_sim.swarm")


def public(package: str) -> str:
    """Code that asks for the type of each public name."""
    return f"import {package} as fs\n" + "\n".join(f"reveal_type(fs.{name})" for name in import_module(package).__all__)


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What mypy says about each file of a user, with the settings of the project: all at once: loading takes longest.

    Texts name their paths: from its cache mypy repeats what it said of the same text elsewhere, with the path of then.
    """
    api = pytest.importorskip("mypy.api")
    templates = "\n\n".join(blocks(ROOT / "docs/own_code.md", "python"))
    texts = {"user": USER_CODE, "misspelt": MISSPELT, "abstract": ABSTRACT, "mine": templates}
    texts["wrong"] = templates.replace("dt: float) -> None:", "dt: float) -> bool:", 1)
    texts |= {f"all_of_{package.replace('.', '_')}": public(package) for package in PACKAGES}
    folder = tmp_path_factory.mktemp("user")
    files = {name: folder / f"{name}.py" for name in texts}
    for name, file in files.items():
        file.write_text(f"{texts[name]}\n# {file}\n", encoding="utf-8")
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache"), "--strict"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MYPYPATH", str(SOURCE.parent))
        out, failed, _ = api.run([*settings, "--hide-error-context", "--no-pretty", *map(str, files.values())])
    assert not failed, failed
    lines = out.splitlines()
    found = {
        name: [line.removeprefix(f"{file}:") for line in lines if line.startswith(f"{file}:")]
        for name, file in files.items()
    }
    assert sum(map(len, found.values())) == len(lines) - 1, out
    return found


@pytest.mark.slow
def test_misspelt_names_fail(said: dict[str, list[str]]) -> None:
    agent, controller, simulation = said["misspelt"]
    assert agent.endswith('Module "fleet_sim" has no attribute "Agnet"; maybe "Agent"?  [attr-defined]')
    # The closest name comes first; others may follow.
    assert 'has no attribute "Controler"; maybe "Controller"' in controller
    assert simulation.startswith("4: error: Module has no attribute")


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_has_a_type(package: str, said: dict[str, list[str]]) -> None:
    lines, names = said[f"all_of_{package.replace('.', '_')}"], import_module(package).__all__
    assert len(lines) == len(names)
    assert [line for line in lines if line.endswith('"Any"') or "Revealed type" not in line] == []
    if package == "fleet_sim":
        assert lines[names.index("Agent")].endswith('-> fleet_sim.robots.agent.Agent"')


@pytest.mark.slow
def test_what_users_write_is_typed(said: dict[str, list[str]]) -> None:
    assert [line.partition(": ")[2] for line in said["user"]] == [
        'note: Revealed type is "list[fleet_sim.robots.agent.Agent]"',
        'note: Revealed type is "bool"',
        'error: "Agent" has no attribute "set_velocty"; maybe "set_velocity"?  [attr-defined]',
        'note: Revealed type is "user.Counter"',
        'note: Revealed type is "user.Battery"',
        'note: Revealed type is "user.Battery | None"',
        'error: "MultiRobotSimulationCore" has no attribute "pausee"  [attr-defined]',
        'error: Argument 1 to "register_callback" of "SimObject" has incompatible type '
        '"Callable[[MultiRobotSimulationCore, float], None]"; expected "Callable[[Agent, float], object]"  [arg-type]',
        'note: Revealed type is "fleet_sim.robots.agent.Agent"',
        'note: Revealed type is "fleet_sim.robots.sim_object.SimObject"',
    ]


@pytest.mark.slow
def test_the_templates_of_own_code_are_typed(said: dict[str, list[str]]) -> None:
    assert said["mine"] == [] and said["wrong"] != []


@pytest.mark.slow
def test_a_registry_gives_back_what_it_holds(said: dict[str, list[str]]) -> None:
    lines = said["abstract"]
    assert lines[0].endswith('Revealed type is "type[abstract.Planner]"')
    assert lines[1].endswith('Revealed type is "def (self: abstract.Straight) -> float"'), "a decorator keeps the class"
    assert 'expected "type[Planner]"' in lines[2]


@pytest.mark.parametrize("package", LAZY)
def test_typed_imports_and_lazy_names_are_the_same(package: str) -> None:
    path = SOURCE.joinpath(*package.split(".")[1:], "__init__.py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    (typed,) = (
        node.body for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    module, imported = import_module(package), set()
    for node in typed:
        assert isinstance(node, ast.ImportFrom) and node.module is not None
        home = import_module(node.module)
        for alias in node.names:
            if alias.name == "*":
                # What it hands on; its registries are no public names of this package.
                names = [name for name in module.__all__ if isinstance(vars(home).get(name), type)]
                assert names
            else:
                assert alias.asname == alias.name, f"write `{alias.name} as {alias.name}`: else it is no public name"
                names = [alias.name]
            assert all(getattr(module, name) is getattr(home, name) for name in names)
            imported.update(names)
    assert imported == set(module.__all__) <= set(dir(module))


def test_lazy_names_without_sources_are_refused() -> None:
    spec = ModuleSpec("bare", SourcelessFileLoader("bare", "bare.pyc"))
    with pytest.raises(ImportError, match="bare: its names are read from its source, which is missing"):
        lazy({"__name__": "bare", "__spec__": spec})
