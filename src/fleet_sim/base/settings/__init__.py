"""Strict settings: one declaration per field gives the checks, the error messages and the JSON schema.

A settings class is a dataclass whose fields are made with `setting()`. `read()` converts a mapping to it,
`Checked` validates it when it is constructed or changed in code, `json_schema()` describes it to editors.
"""

from fleet_sim.base.settings.fields import Setting, names_of, setting, time_setting
from fleet_sim.base.settings.files import load_documents, load_mapping, parse_remote, parse_value, read_either
from fleet_sim.base.settings.reader import (
    Checked,
    UsedSettings,
    check_fields,
    json_schema,
    nullable,
    object_schema,
    read,
    read_list,
    set_key,
)

__all__ = [
    "Checked",
    "Setting",
    "UsedSettings",
    "check_fields",
    "json_schema",
    "load_documents",
    "load_mapping",
    "names_of",
    "nullable",
    "object_schema",
    "parse_remote",
    "parse_value",
    "read",
    "read_either",
    "read_list",
    "set_key",
    "setting",
    "time_setting",
]
