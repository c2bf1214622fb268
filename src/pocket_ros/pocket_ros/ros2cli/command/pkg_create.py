"""`ros2 pkg create`."""

from __future__ import annotations

import argparse
import getpass
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from ..package_templates import NewPackage, cmake_files, cmake_lists, manifest, python_files
from ..verbs import Verbs, add_verb

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_LICENSES = Path(__file__).parents[1] / "licenses"


def add_create(verbs: Verbs) -> None:
    """The verb and its arguments."""
    flag = add_verb(verbs, "create", _create, "Create a new ROS 2 package").add_argument
    flag("package_name", help="The package name")
    flag(
        "--package-format",
        "--package_format",
        type=int,
        default=3,
        choices=[2, 3],
        help="The package.xml format",
    )
    flag(
        "--description", default="TODO: Package description", help="The description given in the package.xml"
    )
    flag(
        "--license",
        default="TODO: License declaration",
        help="The license of the package; '?' lists those whose text is written to a file LICENSE",
    )
    flag("--destination-directory", default=os.curdir, help="Directory where to create the package directory")
    flag("--build-type", default="ament_cmake", choices=["cmake", "ament_cmake", "ament_python"])
    flag("--dependencies", nargs="+", default=[], help="List of dependencies")
    flag("--maintainer-email", help="Email address of the maintainer of this package")
    flag("--maintainer-name", help="Name of the maintainer of this package")
    flag("--node-name", help="Name of the empty executable")
    flag("--library-name", help="Name of the empty library")


def _create(args: argparse.Namespace) -> str | None:
    licenses = sorted(path.name for path in _LICENSES.iterdir())
    if args.license == "?":
        print("Supported licenses:", *licenses, sep="\n")
        return None
    package = _package(args)
    if problem := _problem(package):
        return problem
    folder = os.path.join(args.destination_directory, package.name)
    if os.path.exists(folder):
        return (
            f"\nAborted!\nThe directory already exists: {folder}\nEither remove the directory or choose a "
            "different destination directory or package name"
        )
    _tell(package, args.destination_directory)
    if package.build_type == "ament_python":
        _write_python(package, folder)
    else:
        _write_cmake(package, folder)
    if package.license in licenses:
        shutil.copyfile(_LICENSES / package.license, os.path.join(folder, "LICENSE"))
    else:
        print(
            f"\n[WARNING]: Unknown license '{package.license}'. It has been set in the package.xml, but no "
            f"LICENSE file has been created. A file is written for: {', '.join(licenses)}"
        )
    return None


def _package(args: argparse.Namespace) -> NewPackage:
    name = args.maintainer_name or getpass.getuser()
    node = args.node_name
    if node and node == args.library_name:
        node = f"{node}_node"
        print("[WARNING] node name can not be equal to the library name", file=sys.stderr)
        print(f"[WARNING] renaming node to {node}", file=sys.stderr)
    return NewPackage(
        name=args.package_name,
        build_type=args.build_type,
        package_format=args.package_format,
        description=args.description,
        license=args.license,
        maintainer_name=name,
        maintainer_email=args.maintainer_email or _email_of_git() or f"{name}@todo.todo",
        dependencies=tuple(args.dependencies),
        node_name=node,
        library_name=args.library_name,
    )


def _email_of_git() -> str:
    git = shutil.which("git")
    if git is None:
        return ""
    return subprocess.run([git, "config", "user.email"], stdout=subprocess.PIPE, text=True).stdout.strip()


def _problem(package: NewPackage) -> str | None:
    """What makes a name impossible, before anything is written."""
    for name in (package.name, package.node_name, package.library_name, *package.dependencies):
        if name is not None and not _NAME.fullmatch(name):
            return f"'{name}' is no name: it begins with a letter, letters, digits, _ and - follow"
    if package.build_type != "ament_python":
        return None
    if package.name == "test":
        return (
            "Aborted since 'ament_python' packages can't be named 'test'. Please choose a different package "
            "name."
        )
    for name in (package.name, package.node_name, package.library_name):
        if name is not None and not name.isidentifier():
            return f"'{name}' cannot be the name of a Python module: it has a '-'"
    return None


def _tell(package: NewPackage, destination: str) -> None:
    print("going to create a new package")
    print("package name:", package.name)
    print("destination directory:", os.path.abspath(destination))
    print("package format:", package.package_format)
    print("version: 0.0.0")
    print("description:", package.description)
    print("maintainer:", [f"{package.maintainer_name} <{package.maintainer_email}>"])
    print("licenses:", [package.license])
    print("build type:", package.build_type)
    print("dependencies:", list(package.dependencies))
    if package.node_name:
        print("node_name:", package.node_name)
    if package.library_name:
        print("library_name:", package.library_name)


def _write_python(package: NewPackage, folder: str) -> None:
    _make_folder(folder)
    _write(folder, "package.xml", manifest(package))
    print("creating source folder")
    _make_folder(os.path.join(folder, package.name))
    for path, text in python_files(package).items():
        _write(folder, path, text)


def _write_cmake(package: NewPackage, folder: str) -> None:
    _make_folder(folder)
    _write(folder, "package.xml", manifest(package))
    print("creating source and include folder")
    _make_folder(os.path.join(folder, "src"))
    _make_folder(os.path.join(folder, "include", package.name))
    _write(folder, "CMakeLists.txt", cmake_lists(package))
    for path, text in cmake_files(package).items():
        _write(folder, path, text)


def _make_folder(path: str) -> None:
    print("creating folder", path)
    os.makedirs(path)


def _write(folder: str, name: str, text: str) -> None:
    path = os.path.join(folder, name)
    if not os.path.isdir(parent := os.path.dirname(path)):
        _make_folder(parent)
    print("creating", path)
    with open(path, "w") as stream:
        stream.write(text)
