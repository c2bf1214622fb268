"""Values that are given on a command line as YAML."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import yaml


def read_values(text: str) -> Any:
    """What a YAML text says. Raises ValueError for a text that is none, with what is wrong in it."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"the values are not in YAML format: {error}") from error


def given_values(args: argparse.Namespace, name: str) -> Any:
    """`read_values` of an argument, or of standard input with `--stdin`."""
    return read_values(sys.stdin.read() if args.stdin else getattr(args, name))
