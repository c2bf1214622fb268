"""What is installed is complete, and says the same things everywhere."""

from __future__ import annotations

import configparser
import json
import os
import re
import signal
import subprocess
import sys
import venv
from importlib.metadata import metadata
from pathlib import Path
from shutil import copytree, ignore_patterns, which
from xml.etree import ElementTree

import pytest

import fleet_sim

ROOT = Path(__file__).parents[1]
NOT_SOURCES = ignore_patterns(".git", ".venv*", "build", "install", "log", "dist", "*.egg-info", ".*_cache")


def test_package_xml_agrees_with_the_python_package() -> None:
    package = ElementTree.parse(ROOT / "package.xml").getroot()
    about = metadata("fleet_sim")
    assert package.get("format") == "3"
    assert package.findtext("name") == about["Name"].replace("-", "_")
    assert package.findtext("version") == about["Version"] == fleet_sim.__version__
    assert package.findtext("description") == about["Summary"]
    assert package.findtext("license") in (about.get("License"), about.get("License-Expression"))
    maintainer = package.find("maintainer")
    assert maintainer is not None
    assert (maintainer.text, maintainer.get("email")) == (about["Author"], about["Author-email"])
    assert package.findtext("export/build_type") == "ament_python"


def test_every_extra_that_is_named_can_be_installed() -> None:
    """To the letter: older versions of pip take `robot_descriptions` for another extra than `robot-descriptions`."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    sources = [path for name in ("src/fleet_sim", "docs", "examples") for path in (ROOT / name).rglob("*.[pm][yd]")]
    text = "".join(path.read_text(encoding="utf-8") for path in [*sources, ROOT / "README.md"])
    told = re.findall(r"(?:missing|of)_extra\(\s*[^,()]+,\s*\"([^\"]+)\"", text)
    told += [name for names in re.findall(r"(?:fleet_sim|'\.)\[([\w,-]+)\]", text) for name in names.split(",")]
    assert len(told) > 40
    assert set(told) <= set(setup["options.extras_require"])


def test_the_citation_and_the_page_on_installation_agree_with_the_package() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {fleet_sim.__version__}\n" in citation
    about = metadata("fleet_sim")
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    extras = set(about.get_all("Provides-Extra") or ())
    assert {extra for extra in extras if f"`{extra}`" not in page} == set()


def test_versions_are_the_same_everywhere() -> None:
    version = re.escape(fleet_sim.__version__)
    for file, line in (
        ("src/pocket_ros/pocket_ros/__init__.py", f'__version__ = "{version}"'),
        ("src/fleet_sim_msgs/package.xml", f"  <version>{version}</version>"),
        ("packaging/recipe.yaml", f'  version: "{version}"'),
    ):
        assert re.search(f"^{line}$", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE), file


def test_links_of_the_long_description_lead_out_of_the_checkout() -> None:
    """An index shows the README, where links relative to a repository are dead."""
    about = metadata("fleet_sim")
    links = re.findall(r"\]\(([^)\s]+)\)", about.get_payload())
    assert len(links) > 40
    assert {link for link in links if not link.startswith(("https://", "#"))} == set()
    pictures = [link for link in links if link.endswith((".png", ".gif"))]
    assert pictures and all("/raw/" in link for link in pictures)


def test_the_changelog_has_this_version_or_is_ahead() -> None:
    headings = re.findall(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] in ("Unreleased", fleet_sim.__version__)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_installed_wheel_is_complete(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "AMENT_PREFIX_PATH")}

    def run(*command: object) -> str:
        words = [str(word) for word in command]
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    sources, prefix = tmp_path / "sources", tmp_path / "venv"
    copytree(ROOT, sources, ignore=NOT_SOURCES)
    venv.create(prefix, with_pip=True)
    run(prefix / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", sources)

    assert run(prefix / "bin" / "fleet-sim", "--version") == f"fleet-sim {fleet_sim.__version__}\n"
    assert run(prefix / "bin" / "fleet-sim", "check", "demo.yaml").endswith("demo.yaml: OK\n")
    found = Path(run(prefix / "bin" / "fleet-sim", "check", "demo.yaml").split(":")[0]).resolve()
    share = (prefix / "share").resolve()
    assert found == share / "fleet_sim" / "config" / "demo.yaml"
    assert (share / "fleet_sim" / "package.xml").is_file()
    shown = run(prefix / "bin" / "fleet-sim", "models", "show", "arm6")
    assert str(share / "fleet_sim" / "urdf" / "arm6.urdf") in shown
    assert (share / "ament_index" / "resource_index" / "packages" / "fleet_sim").is_file()
    assert (share / "ament_index" / "resource_index" / "packages" / "fleet_sim_msgs").is_file()
    assert (share / "fleet_sim_msgs" / "msg" / "FleetState.msg").is_file()
    script = "import fleet_sim, pathlib; print(pathlib.Path(fleet_sim.__file__).with_name('py.typed').is_file())"
    assert run(prefix / "bin" / "python", "-c", script) == "True\n"
    installed = {path.name for path in (share.parent / "lib").glob("python*/site-packages/*")}
    assert not {"pocket_ros", "fleet_sim_msgs", "test"} & installed


def test_setup_py_runs_in_a_folder_of_links_as_colcon_makes_it(tmp_path: Path) -> None:
    for name in ("package.xml", "resource", "setup.cfg", "setup.py", "src"):
        (tmp_path / name).symlink_to(ROOT / name)
    command = [sys.executable, "setup.py", "--quiet", "--name"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["fleet_sim"], done.stderr


@pytest.mark.slow
def test_ros_finds_executables_where_it_looks(tmp_path: Path) -> None:
    copytree(ROOT, tmp_path / "sources", ignore=NOT_SOURCES)
    command = [sys.executable, "setup.py", "--quiet", "install", "--prefix", tmp_path / "install"]
    command += ["--single-version-externally-managed", "--record", tmp_path / "record.txt"]
    done = subprocess.run(command, cwd=tmp_path / "sources", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "install" / "lib" / "fleet_sim" / "fleet-sim").is_file()
    assert (tmp_path / "install" / "share" / "fleet_sim" / "config" / "demo.yaml").is_file()


def test_colcon_runs_the_tests_by_pytest() -> None:
    """It does where the extra `test` asks for pytest; else it looks for tests of unittest, and passes with none."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    wanted = [re.split("[<>=!;]", line)[0] for line in setup["options.extras_require"]["test"].split()]
    assert "pytest" in wanted
    told = {node.text for node in ElementTree.parse(ROOT / "package.xml").iter("test_depend")}
    # pytest-xdist shares the tests out among processes, which colcon does not ask for.
    assert {f"python3-{name}" for name in wanted if name != "pytest-xdist"} <= told


def test_rosdep_installs_what_reads_the_pictures_of_shipped_maps() -> None:
    """The first command of docs/nav2.md opens one; pip's extras are not rosdep's."""
    assert {path.suffix for path in (ROOT / "config").rglob("*.*")} <= {".yaml", ".png"}
    told = {node.text for node in ElementTree.parse(ROOT / "package.xml").iter("exec_depend")}
    assert "python3-pil" in told


@pytest.mark.skipif(which("colcon") is None, reason="colcon is not on the PATH (pip install colcon-common-extensions)")
def test_colcon_finds_both_packages_where_the_page_on_installation_looks(tmp_path: Path) -> None:
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    searches = {tuple(search.split()) for search in re.findall(r"colcon \w+.*?(--base-paths(?: [\w./]+)+)", page)}
    assert searches == {("--base-paths", "src", "src/fleet_sim/src")}
    workspace = tmp_path / "workspace"
    (workspace / "src").mkdir(parents=True)
    (workspace / "src" / "fleet_sim").symlink_to(ROOT)
    without = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "COLCON_DEFAULTS_FILE")}

    def listed(folder: Path, *search: str, **more: str) -> list[list[str]]:
        command = ["colcon", "--log-base", str(tmp_path / "log"), "list", "--topological-order", *search]
        environment = {**without, **more}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
        return [line.split("\t") for line in done.stdout.splitlines()]

    # Messages first, as the node needs them; pocket_ros is for where there is no ROS, and is none of them.
    expected = [("fleet_sim_msgs", "(ros.ament_cmake)"), ("fleet_sim", "(ros.ament_python)")]
    for search in searches:
        assert [(name, kind) for name, _, kind in listed(workspace, *search)] == expected
    defaults = listed(ROOT, COLCON_DEFAULTS_FILE=str(ROOT / "colcon_defaults.yaml"))
    assert [(name, kind) for name, _, kind in defaults] == expected


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.skipif(
    which("colcon") is None or "AMENT_PREFIX_PATH" not in os.environ,
    reason="no ROS 2 is sourced, or colcon is not there",
)
def test_what_the_page_on_installation_says_to_type_ends_with_a_robot_at_its_goal(tmp_path: Path) -> None:
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    typed = re.findall(r"^\$ (.+)$", page.partition("## ROS 2")[2], re.MULTILINE)
    clone, dependencies, build, source, launch, goal = typed
    assert clone == "git clone <this repository> src/fleet_sim" and dependencies.startswith("rosdep install ")
    # What rosdep installs is of the system, and comes from the network.
    environment = {name: value for name, value in os.environ.items() if name != "COLCON_DEFAULTS_FILE"}
    # Else make starts nothing where the machine has other work.
    environment.setdefault("MAKEFLAGS", f"-j{os.cpu_count()}")
    # A checkout on the path would stand in for what is built.
    environment["PYTHONPATH"] = os.pathsep.join(
        path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if not Path(path).is_relative_to(ROOT)
    )
    (tmp_path / "src").mkdir()
    shell = ["bash", "-c"]
    lines = f"git clone -q {ROOT} src/fleet_sim && {build}"
    subprocess.run([*shell, lines], cwd=tmp_path, env=environment, check=True)
    with subprocess.Popen([*shell, f"{source} && exec {launch}"], cwd=tmp_path, env=environment) as launched:
        try:
            # It waits for the server, as one who types it may be early.
            command = [*shell, f"{source} && {goal}"]
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
            launched.send_signal(signal.SIGINT)
            launched.wait(60)
        finally:
            launched.kill()
    assert "Goal finished with status: SUCCEEDED" in done.stdout, done.stdout + done.stderr
    assert re.search(r"^ +success: true$", done.stdout, re.MULTILINE)


def test_extras_have_names_that_every_pip_understands() -> None:
    """Older versions of pip do not find an extra with an underscore, whichever way it is asked for."""
    extras = metadata("fleet_sim").get_all("Provides-Extra") or []
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    hints = {entry.install_hint for entry in fleet_sim.KNOWN_MODELS.values()}
    asked = re.findall(r"fleet_sim\[([^\]]+)\]", text + "".join(hints))
    assert {name for names in asked for name in names.split(",")} <= set(extras)
    assert not [name for name in extras if "_" in name]


def locked(file: str) -> dict[str, set[str]]:
    """Return the versions of each package in a lock file; each line must have hashes."""
    entries = (ROOT / file).read_text(encoding="utf-8").replace(" \\\n", " ").splitlines()[1:]
    found: dict[str, set[str]] = {}
    for entry in entries:
        matched = re.fullmatch(r"([\w.-]+)==(\S+)(?: ; [^-]+)?((?: +--hash=sha256:[0-9a-f]{64})+)", entry)
        assert matched, entry
        found.setdefault(re.sub(r"[-_.]+", "-", matched[1]).lower(), set()).add(matched[2])
    return found


def test_what_ci_and_the_image_install_is_of_the_tested_versions_and_has_hashes() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.lower().split("==") for line in lines if not line.startswith("#"))
    tested = {re.sub(r"[-_.]+", "-", name): version for name, version in pins.items()}
    for file in ("constraints.lock", "docker.lock"):
        versions = locked(file)
        wrong = {name: versions[name] for name in tested.keys() & versions.keys() if tested[name] not in versions[name]}
        assert not wrong, f"{file}: not the versions of constraints.txt, make constraints writes both: {wrong}"
    assert tested.keys() <= locked("constraints.lock").keys()
    docker, make = ((ROOT / name).read_text(encoding="utf-8") for name in ("Dockerfile", "Makefile"))
    installs = [line for line in docker.splitlines() if "pip install" in line]
    assert "--require-hashes -r docker.lock" in installs[0]
    assert len(installs) == 2 and "--no-deps --no-build-isolation" in installs[1]
    assert re.search(r"^ARG BASE=python:\d+\.\d+\.\d+-slim-\w+@sha256:[0-9a-f]{64}$", docker, re.MULTILINE)
    constrained = make.partition("\ntest-constrained:")[2].partition("\n\n")[0]
    assert "--require-hashes --requirement constraints.lock" in constrained
    assert "--no-deps --no-build-isolation" in constrained


def test_packages_of_npm_have_versions_and_hashes() -> None:
    wanted = json.loads((ROOT / ".ci/npm/package.json").read_text(encoding="utf-8"))["dependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in wanted.values())
    packages = json.loads((ROOT / ".ci/npm/package-lock.json").read_text(encoding="utf-8"))["packages"]
    others = {name: entry for name, entry in packages.items() if name}
    assert {f"node_modules/{name}" for name in wanted} <= others.keys()
    assert all(entry["integrity"].startswith("sha512-") for entry in others.values())
    run = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert "npm ci " in run and "npm install" not in run and "--ignore-scripts" in run


def test_no_address_of_a_package_registry_is_in_a_file() -> None:
    names = (
        "pypi org",
        "pythonhosted org",
        "npmjs org",
        "npmjs com",
        "yarnpkg com",
        "crates io",
        "docker io",
        "ghcr io",
    )
    names += (
        "quay io",
        "mcr microsoft com",
        "gcr io",
        "golang org/dl",
        "anaconda org",
        "rubygems org",
        "debian org/debian",
    )
    pattern = re.compile("|".join(re.escape(name.replace(" ", ".")) for name in names))
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False).stdout
    files = [ROOT / name for name in listed.decode().split("\0") if name] or sorted(ROOT.glob("*"))
    texts = {file: file.read_bytes().decode("utf-8", "replace") for file in files if file.is_file()}
    assert len(texts) > 10
    assert not {str(file): found[0] for file, text in texts.items() if (found := pattern.search(text))}
