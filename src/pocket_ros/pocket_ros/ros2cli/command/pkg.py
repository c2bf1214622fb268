"""`ros2 pkg`."""

from __future__ import annotations

import argparse
import os
from xml.etree import ElementTree

from ...ament_index_python import (
    PackageNotFoundError,
    get_package_prefix,
    get_package_share_directory,
    get_packages_with_prefixes,
)
from ...executables import get_executable_paths
from ..verbs import add_verb, add_verbs

NOT_FOUND = "Package not found"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `ros2 pkg`."""
    verbs = add_verbs(parser)
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
