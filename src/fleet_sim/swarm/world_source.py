"""Sources of worlds: mappings, and files, which may be templates or hold several documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from fleet_sim.config.file_kinds import check_kind
from fleet_sim.config.scenario import as_scenario
from fleet_sim.errors import ConfigError
from fleet_sim.settings import Variables, load_documents
from fleet_sim.settings.types import shown

Made = TypeVar("Made")


@contextmanager
def naming(source: str) -> Iterator[None]:
    """Let errors name the file `source`, where they do not name one themselves."""
    try:
        yield
    except ConfigError as error:
        if error.source or not source:
            raise
        raise error.within(source=source) from error


def world_in(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the world in what a file holds: the section `swarm` of a scenario, or all of it; raises ConfigError."""
    if "swarm" not in config:
        check_kind("swarm world", config)
    world = as_scenario(config).get("swarm", config)
    if not isinstance(world, Mapping):
        raise ConfigError(f"must be a mapping with the settings of a world, got {world!r}", path="swarm")
    return dict(world)


def load_world(path: str | Path, variables: Variables | None = None) -> dict[str, Any]:
    """Return the mapping of the world in a YAML file, a template whose `variables` are filled in.

    Of several documents in the file it is the one with a `type`. Raises ConfigError, also where there is none or more
    than one of them, and MissingDependencyError for a template without Jinja2.
    """
    documents = load_documents(path, variables or Variables())
    with naming(str(path)):
        if not documents:
            raise ConfigError("is empty; expected a mapping of keys to values")
        if len(documents) == 1:
            (found,) = documents
            if not isinstance(found, dict):
                raise ConfigError(f"expected a mapping of keys to values, got {shown(found)}")
            return world_in(found)
        worlds = [document for document in documents if isinstance(document, dict) and "type" in document]
        if len(worlds) != 1:
            raise ConfigError(
                f"holds {len(documents)} documents, of which {len(worlds)} have a `type` and so are worlds; one must"
            )
        return world_in(worlds[0])


def read_world(path: str | Path, values: Mapping[str, Any], make: Callable[[dict[str, Any]], Made]) -> Made:
    """Return what `make` makes of the world in a YAML file, a template whose variables have these `values`.

    Raises ConfigError, also for a value that the file does not ask for.
    """
    variables = Variables(values)
    config = load_world(path, variables)
    variables.check_used(str(path))
    with naming(str(path)):
        return make(config)
