"""The files of a new package: their paths below its folder, and what is in them."""

from __future__ import annotations

from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr


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
