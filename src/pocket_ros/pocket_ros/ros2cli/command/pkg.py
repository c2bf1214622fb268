"""`ros2 pkg`."""

from __future__ import annotations

import argparse
import getpass
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from ...ament_index_python import (
    PackageNotFoundError,
    get_package_prefix,
    get_package_share_directory,
    get_packages_with_prefixes,
)
from ...executables import get_executable_paths
from ..verbs import Verbs, add_verb, add_verbs

# The files of a new package: their paths below its folder, and what is in them.


@dataclass(frozen=True)
class NewPackage:
    """What is known of a package before it is written."""

    name: str
    build_type: str
    package_format: int
    description: str
    license: str
    maintainer_name: str
    maintainer_email: str
    dependencies: tuple[str, ...] = ()
    node_name: str | None = None
    library_name: str | None = None


def manifest(package: NewPackage) -> str:
    """The text of package.xml."""
    build_tools = [] if package.build_type != "ament_cmake" else ["ament_cmake"]
    test_tools = ["python3-pytest"] if package.build_type == "ament_python" else []
    tags = [
        *(f"<buildtool_depend>{name}</buildtool_depend>" for name in build_tools),
        *(f"<depend>{escape(name)}</depend>" for name in package.dependencies),
        *(f"<test_depend>{name}</test_depend>" for name in test_tools),
    ]
    lines = [
        '<?xml version="1.0"?>',
        f'<package format="{package.package_format}">',
        f"  <name>{package.name}</name>",
        "  <version>0.0.0</version>",
        f"  <description>{escape(package.description)}</description>",
        f"  <maintainer email={quoteattr(package.maintainer_email)}>"
        f"{escape(package.maintainer_name)}</maintainer>",
        f"  <license>{escape(package.license)}</license>",
        "",
        *(f"  {tag}" for tag in tags),
        *([""] if tags else []),
        "  <export>",
        f"    <build_type>{package.build_type}</build_type>",
        "  </export>",
        "</package>",
    ]
    return "\n".join(lines) + "\n"


_SETUP_PY = """from setuptools import find_packages, setup

NAME = {name!r}

setup(
    name=NAME,
    version="0.0.0",
    description={description!r},
    license={license!r},
    maintainer={maintainer_name!r},
    maintainer_email={maintainer_email!r},
    packages=find_packages(exclude=["test"]),
    install_requires=["setuptools"],
    zip_safe=True,
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/" + NAME]),
        ("share/" + NAME, ["package.xml"]),
    ],
    entry_points={{"console_scripts": {scripts!r}}},
)
"""
_SETUP_CFG = """[develop]
script_dir=$base/lib/{name}
[install]
install_scripts=$base/lib/{name}
"""
_PYTHON_NODE = '''"""The program `ros2 run {name} {node_name}` starts."""


def main() -> None:
    print("{name} says hello")


if __name__ == "__main__":
    main()
'''
_PYTHON_TEST = """import {name}


def test_the_package_can_be_imported() -> None:
    assert {name}.__name__ == "{name}"
"""


def python_files(package: NewPackage) -> dict[str, str]:
    """The files of a package of type ament_python."""
    name, node = package.name, package.node_name
    scripts = [f"{node} = {name}.{node}:main"] if node else []
    return {
        "setup.py": _SETUP_PY.format(**vars(package), scripts=scripts),
        "setup.cfg": _SETUP_CFG.format(name=name),
        f"resource/{name}": "",
        f"{name}/__init__.py": "",
        f"test/test_{name}.py": _PYTHON_TEST.format(name=name),
        **({f"{name}/{node}.py": _PYTHON_NODE.format(name=name, node_name=node)} if node else {}),
        **({f"{name}/{package.library_name}/__init__.py": ""} if package.library_name else {}),
    }


_CPP_NODE = """#include <iostream>

int main()
{{
  std::cout << "{name} says hello" << std::endl;
  return 0;
}}
"""
_CPP_HEADER = """#ifndef {guard}
#define {guard}

#include "{name}/visibility_control.h"

namespace {namespace}
{{

class {class_name}
{{
public:
  {export}
  {class_name}();

  {export}
  virtual ~{class_name}();
}};

}}  // namespace {namespace}

#endif  // {guard}
"""
_CPP_SOURCE = """#include "{name}/{library_name}.hpp"

namespace {namespace}
{{

{class_name}::{class_name}() = default;

{class_name}::~{class_name}() = default;

}}  // namespace {namespace}
"""
_CPP_VISIBILITY = """#ifndef {guard}
#define {guard}

// {macro}_BUILDING_LIBRARY is defined while the library itself is compiled.
#if defined(_WIN32) && defined({macro}_BUILDING_LIBRARY)
#  define {macro}_PUBLIC __declspec(dllexport)
#elif defined(_WIN32)
#  define {macro}_PUBLIC __declspec(dllimport)
#else
#  define {macro}_PUBLIC __attribute__((visibility("default")))
#endif

#endif  // {guard}
"""


def cmake_files(package: NewPackage) -> dict[str, str]:
    """The files of a package in C++ but for CMakeLists.txt, for ament_cmake and for cmake alone."""
    name, node, library = package.name, package.node_name, package.library_name
    files = {f"src/{node}.cpp": _CPP_NODE.format(name=name)} if node else {}
    if library:
        macro = _identifier(name).upper()
        parts = {
            "name": name,
            "namespace": _identifier(name),
            "library_name": library,
            "class_name": "".join(word.title() for word in _identifier(library).split("_")),
            "macro": macro,
            "export": f"{macro}_PUBLIC",
        }
        include = f"include/{name}"
        guard = f"{macro}__{_identifier(library).upper()}_HPP_"
        files[f"{include}/{library}.hpp"] = _CPP_HEADER.format(**parts, guard=guard)
        files[f"src/{library}.cpp"] = _CPP_SOURCE.format(**parts)
        files[f"{include}/visibility_control.h"] = _CPP_VISIBILITY.format(
            **parts, guard=f"{macro}__VISIBILITY_CONTROL_H_"
        )
    return files


def _identifier(name: str) -> str:
    return name.replace("-", "_")


def cmake_lists(package: NewPackage) -> str:
    """The text of CMakeLists.txt."""
    is_ament = package.build_type == "ament_cmake"
    lines = [
        "cmake_minimum_required(VERSION 3.8)",
        f"project({package.name} VERSION 0.0.0 LANGUAGES CXX)",
        "",
        *(["find_package(ament_cmake REQUIRED)"] if is_ament else []),
        *(f"find_package({name} REQUIRED)" for name in package.dependencies),
        "",
        *_library_lines(package),
        *_node_lines(package),
    ]
    if package.library_name:
        lines += _export_lines(package, is_ament)
    if is_ament:
        lines.append("ament_package()")
    else:
        lines.append(f"install(FILES package.xml DESTINATION share/{package.name})")
    return "\n".join(lines) + "\n"


def _export_lines(package: NewPackage, is_ament: bool) -> list[str]:
    """What makes the library a target of others after find_package."""
    name = package.name
    if not is_ament:
        config = f"FILE {name}Config.cmake NAMESPACE {name}:: DESTINATION share/{name}/cmake"
        return [f"install(EXPORT {name}Targets {config})"]
    lines = [f"ament_export_targets({name}Targets HAS_LIBRARY_TARGET)"]
    if package.dependencies:
        lines.append(f"ament_export_dependencies({' '.join(package.dependencies)})")
    return [*lines, ""]


def _uses(package: NewPackage, target: str, keyword: str) -> list[str]:
    """The line that gives a target what the package depends on; cmake alone knows no names of targets."""
    if package.build_type != "ament_cmake" or not package.dependencies:
        return []
    return [f"ament_target_dependencies({target} {keyword}{' '.join(package.dependencies)})"]


def _library_lines(package: NewPackage) -> list[str]:
    library = package.library_name
    if not library:
        return []
    macro = _identifier(package.name).upper()
    return [
        f"add_library({library} SHARED src/{library}.cpp)",
        f"target_compile_features({library} PUBLIC cxx_std_17)",
        f"target_compile_definitions({library} PRIVATE {macro}_BUILDING_LIBRARY)",
        f"target_include_directories({library} PUBLIC",
        "  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>",
        f"  $<INSTALL_INTERFACE:include/{package.name}>)",
        *_uses(package, library, "PUBLIC "),
        f"install(DIRECTORY include/ DESTINATION include/{package.name})",
        f"install(TARGETS {library} EXPORT {package.name}Targets",
        "  ARCHIVE DESTINATION lib LIBRARY DESTINATION lib RUNTIME DESTINATION bin)",
        "",
    ]


def _node_lines(package: NewPackage) -> list[str]:
    node = package.node_name
    if not node:
        return []
    return [
        f"add_executable({node} src/{node}.cpp)",
        f"target_compile_features({node} PUBLIC cxx_std_17)",
        *([f"target_link_libraries({node} PRIVATE {package.library_name})"] if package.library_name else []),
        *(_uses(package, node, "") if not package.library_name else []),
        f"install(TARGETS {node} DESTINATION lib/{package.name})",
        "",
    ]


# `ros2 pkg create`.


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


NOT_FOUND = "Package not found"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `ros2 pkg`."""
    verbs = add_verbs(parser)
    add_create(verbs)
    executables = add_verb(
        verbs, "executables", _executables, "Output a list of package specific executables"
    )
    executables.add_argument("package_name", nargs="?", help="The package name")
    executables.add_argument("--full-path", action="store_true", help="Show full path of each executable")
    add_verb(verbs, "list", _list, "Output a list of available packages")
    prefix = add_verb(verbs, "prefix", _prefix, "Output the prefix path of a package")
    prefix.add_argument("package_name", help="The package name")
    prefix.add_argument("--share", action="store_true", help="Show share directory for the package")
    xml = add_verb(verbs, "xml", _xml, "Output the XML of the package manifest")
    xml.add_argument("package_name", help="The package name")
    xml.add_argument("-t", "--tag", help="The XML tag to output (e.g. 'version')")


def _list(args: argparse.Namespace) -> None:
    for name in sorted(get_packages_with_prefixes()):
        print(name)


def _prefix(args: argparse.Namespace) -> str | None:
    find = get_package_share_directory if args.share else get_package_prefix
    try:
        print(find(args.package_name))
    except PackageNotFoundError:
        return NOT_FOUND
    return None


def _executables(args: argparse.Namespace) -> str | None:
    names = sorted(get_packages_with_prefixes()) if args.package_name is None else [args.package_name]
    for name in names:
        try:
            paths = get_executable_paths(package_name=name)
        except PackageNotFoundError:
            return NOT_FOUND
        for path in paths:
            print(path if args.full_path else f"{name} {os.path.basename(path)}")
    return None


def _xml(args: argparse.Namespace) -> str | None:
    try:
        folder = get_package_share_directory(args.package_name)
    except PackageNotFoundError:
        return NOT_FOUND
    manifest = os.path.join(folder, "package.xml")
    if not os.path.isfile(manifest):
        return f"Package '{args.package_name}' has no package.xml in {folder}"
    with open(manifest) as stream:
        text = stream.read()
    if args.tag is None:
        print(text)
        return None
    found = [element.text for element in ElementTree.fromstring(text).findall(args.tag)]
    if not found:
        return f"'{manifest}' has no tag '{args.tag}'"
    print(*found, sep="\n")
    return None
