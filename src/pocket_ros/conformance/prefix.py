"""An ament prefix made of checkouts: what upstream's tests look up in an installed workspace.

Interfaces are linked from where they are defined, programs of Python packages get a script each, and what
`data_files` would install below `lib` of a package for its tests is linked. Python packages themselves are
left where they are: those that pocket_ros provides are the thing under test.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

_KINDS = ("msg", "srv", "action")
_SCRIPT = """#!{python}
import sys

sys.path.append({folder!r})
from {module} import {function}

sys.exit({function}())
"""
_BORROWED = {"test_msgs": "test_interface_files"}
"""Packages whose definitions are, but for a few, those of another repository."""
LENT = "lent_modules"
"""The module, in `lib/python` of the prefix, that lends test_msgs the Python file beside its messages."""
_LENT_MODULE = "test_msgs.message_fixtures"
_LENDING = """import importlib.util
import sys
from importlib.machinery import ModuleSpec


class Lender:
    def find_spec(self, fullname, path=None, target=None) -> "ModuleSpec | None":
        # Modules of interface packages carry the name that they have inside pocket_ros, too.
        if fullname != {name!r} and not fullname.endswith(".{name}"):
            return None
        return importlib.util.spec_from_file_location(fullname, {path!r})


sys.meta_path.insert(0, Lender())
"""
_LENT_PACKAGES = {
    "rpyutils": "from contextlib import nullcontext\n\nadd_dll_directories_from_env = nullcontext\n",
    "test_tf2_py": "",
    "test_tf2_py/_tf2_py": "from tf2_py import *\n",
}
"""What tests of tf2_py import besides: a helper for Windows, and their compiled copy of the core."""
_SHARED = {
    "launch_testing": {"examples": "test/launch_testing/examples"},
    "demo_nodes_py": {"params.yaml": "demo_nodes_py/parameters/params.yaml"},
}
"""What tests and programs look up in the share folder of their package, and where it is in the sources."""
_LIBRARY_FOLDERS = {"launch_testing": "example_processes"}


def make_prefix(prefix: Path, checkouts: Iterable[Path]) -> None:
    """Fill a folder with the packages below the checkouts."""
    packages = {name: folder for root in checkouts for name, folder in _packages(root)}
    _write_lender(prefix / "lib" / "python", packages.get("test_msgs", Path()))
    for name, folder in packages.items():
        share = prefix / "share" / name
        share.mkdir(parents=True)
        (share / "package.xml").write_text((folder / "package.xml").read_text())
        marker = prefix / "share" / "ament_index" / "resource_index" / "packages" / name
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()
        _link_interfaces(prefix, name, [folder, packages.get(_BORROWED.get(name, ""))])
        _write_programs(prefix / "lib" / name, folder)
        for shared, source in _SHARED.get(name, {}).items():
            (share / shared).symlink_to((folder / source).resolve())
        if name in _LIBRARY_FOLDERS:
            _link_files(prefix / "lib" / name, (folder / _LIBRARY_FOLDERS[name]).iterdir())


def _write_lender(folder: Path, package: Path) -> None:
    """Write a plugin of pytest: packages of interfaces are made here, and have no folder for Python files."""
    folder.mkdir(parents=True)
    path = package.resolve() / "src" / "test_msgs" / "message_fixtures.py"
    text = _LENDING.format(name=_LENT_MODULE, path=str(path)) if path.is_file() else ""
    (folder / f"{LENT}.py").write_text(text)
    for name, content in _LENT_PACKAGES.items():
        path = folder / (f"{name}.py" if "/" in name else f"{name}/__init__.py")
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)


def _packages(root: Path) -> Iterator[tuple[str, Path]]:
    for manifest in sorted(root.rglob("package.xml")):
        name = ElementTree.parse(manifest).getroot().findtext("name")
        if name:
            yield name.strip(), manifest.parent


def _link_interfaces(prefix: Path, name: str, folders: Iterable[Path | None]) -> None:
    listed: list[str] = []
    for folder in folders:
        for kind in _KINDS if folder is not None else ():
            files = sorted((folder / kind).glob(f"*.{kind}")) if folder is not None else []
            _link_files(prefix / "share" / name / kind, files)
            listed += [f"{kind}/{path.name}" for path in files]
    if listed:
        marker = prefix / "share" / "ament_index" / "resource_index" / "rosidl_interfaces" / name
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.write_text("\n".join(sorted(listed)))


def _link_files(folder: Path, files: Iterable[Path]) -> None:
    for path in files:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / path.name).symlink_to(path.resolve())


def _write_programs(folder: Path, package: Path) -> None:
    setup = package / "setup.py"
    for name, module, function in _console_scripts(setup) if setup.is_file() else ():
        folder.mkdir(parents=True, exist_ok=True)
        program = folder / name
        program.write_text(
            _SCRIPT.format(
                python=sys.executable, folder=str(package.resolve()), module=module, function=function
            )
        )
        program.chmod(0o755)


def _console_scripts(setup: Path) -> Iterator[tuple[str, str, str]]:
    tree = ast.parse(setup.read_text())
    names = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Dict):
            continue
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == "console_scripts":
                for text in (_text(item, names) for item in getattr(value, "elts", ())):
                    found = re.fullmatch(r"\s*([\w.-]+)\s*=\s*([\w.]+):(\w+)\s*", text)
                    if found:
                        yield found[1], found[2], found[3]


def _text(node: ast.AST, names: Mapping[str, ast.AST]) -> str:
    """The text of an expression made of texts, names and sums of them."""
    if isinstance(node, ast.BinOp):
        return _text(node.left, names) + _text(node.right, names)
    if isinstance(node, ast.Name):
        return _text(names.get(node.id, ast.Constant("")), names)
    return str(node.value) if isinstance(node, ast.Constant) else ""
