"""Run a command."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from ..action import Parsed
from ..description import SomeSubstitutionsType, Substitution
from ..descriptions import Executable, SomeEnvironment
from ..frontend.parser import expose_action, optional_texts, optional_values, pairs, split_embedded
from ..utilities import describe_substitutions
from .basic import Shutdown
from .execute_local import ExecuteLocal

if TYPE_CHECKING:
    from ..frontend.parser import Entity, Parser

_TEXTS = {"cwd": "cwd", "name": "name", "prefix": "launch-prefix", "output": "output", "respawn": "respawn"}
_SECONDS = ("respawn_delay", "sigterm_timeout", "sigkill_timeout")
_FLAGS = ("shell", "emulate_tty")


@expose_action("executable")
class ExecuteProcess(ExecuteLocal):
    """Runs a command, given as a list of arguments; further arguments are those of ExecuteLocal."""

    def __init__(
        self,
        *,
        cmd: Iterable[SomeSubstitutionsType],
        prefix: SomeSubstitutionsType | None = None,
        name: SomeSubstitutionsType | None = None,
        cwd: SomeSubstitutionsType | None = None,
        env: SomeEnvironment | None = None,
        additional_env: SomeEnvironment | None = None,
        **kwargs: Any,
    ) -> None:
        executable = Executable(
            cmd=cmd, prefix=prefix, name=name, cwd=cwd, env=env, additional_env=additional_env
        )
        super().__init__(process_description=executable, **kwargs)

    @classmethod
    def _parse_cmdline(cls, cmd: str, parser: Parser) -> list[list[Substitution]]:
        """Command line words; quotes and `$(…)` hold theirs together. Raises ValueError."""
        try:
            return [parser.parse_substitution(word) for word in split_embedded(cmd)]
        except ValueError as error:
            raise ValueError(f"'{cmd}' is no command line: {error}") from error

    @classmethod
    def parse(cls, entity: Entity, parser: Parser, ignore: Collection[str] = ()) -> Parsed:
        """What the attributes, and each `env` inside, say; those in `ignore` are left to the caller."""
        arguments = super().parse(entity, parser)[1]
        named = {key: name for key, name in _TEXTS.items() if key not in ignore}
        arguments |= optional_texts(entity, parser, **named)
        arguments |= optional_values(entity, bool, *(name for name in _FLAGS if name not in ignore))
        arguments |= _parse_seconds(entity, parser, [name for name in _SECONDS if name not in ignore])
        if "respawn_max_retries" not in ignore:
            arguments |= optional_values(entity, int, "respawn_max_retries")
        if "additional_env" not in ignore:
            environment = dict(pairs(entity, parser, "env", "name", "value"))
            arguments |= {"additional_env": environment} if environment else {}
        if "on_exit" not in ignore:
            arguments |= _parse_on_exit(entity)
        if "cmd" not in ignore:
            command = entity.get_attr("cmd")
            whole = arguments.get("shell", False)  # which splits it into words itself
            arguments["cmd"] = (
                [parser.parse_substitution(command)] if whole else cls._parse_cmdline(command, parser)
            )
        return cls, arguments

    @property
    def name(self) -> Any:
        """The name with its number once the action was visited, before that the name given, as
        substitutions.
        """
        return self.process_description.final_name or self.process_description.name

    @property
    def cmd(self) -> list[Any]:
        """The command once the action was visited, before that as lists of substitutions."""
        return self.process_description.final_cmd or list(self.process_description.cmd)

    @property
    def cwd(self) -> Any:
        """The folder to run in."""
        return self.process_description.final_cwd or self.process_description.cwd

    @property
    def env(self) -> SomeEnvironment | None:
        """The environment given."""
        return self.process_description.env

    @property
    def additional_env(self) -> SomeEnvironment | None:
        """Variables on top of the environment."""
        return self.process_description.additional_env

    def describe(self) -> str:
        def text(part: list[Substitution]) -> str:
            return describe_substitutions(part)

        return f"ExecuteProcess(cmd=[{', '.join(text(part) for part in self.process_description.cmd)}])"


def _parse_seconds(entity: Entity, parser: Parser, names: Iterable[str]) -> dict[str, Any]:
    found = {}
    for name in names:
        value = entity.get_attr(name, data_type=float, optional=True)
        if isinstance(value, float) and value < 0:
            raise ValueError(f"'{name}' of `{entity.type_name}` must not be negative, got {value}")
        if value is not None:
            found[name] = parser.parse_if_substitutions(value)
    return found


def _parse_on_exit(entity: Entity) -> dict[str, Any]:
    given = entity.get_attr("on_exit", optional=True)
    if given not in (None, "shutdown"):
        raise ValueError(f"'on_exit' of `{entity.type_name}` can only be 'shutdown', got '{given}'")
    return {} if given is None else {"on_exit": [Shutdown()]}
