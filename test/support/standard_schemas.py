"""The JSON schemas of VDA 5050, where somebody has them: they are not part of this project.

`VDA5050_SCHEMAS=FOLDER pytest -m "" test/warehouse/vda5050`
checks every message of every test against them. The folder has the
releases of the standard, unpacked: `2.0.0/json_schemas/state.schema` and so on.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator


def check_message(version: str, topic: str, message: dict[str, Any]) -> None:
    """Raise ValidationError for a message that its schema does not allow; do nothing without schemas."""
    folder = os.environ.get("VDA5050_SCHEMAS")
    if folder:
        _validator(folder, version, topic).validate(message)


@cache
def _validator(folder: str, version: str, topic: str) -> Draft202012Validator:
    found = sorted((Path(folder) / version / "json_schemas").glob(f"{topic}.*"))
    assert found, f"there is no schema of {topic} in {folder}/{version}/json_schemas"
    # The factsheet of 3.0.0 has a comma before a closing brace.
    text = re.sub(r",(\s*[}\]])", r"\1", found[0].read_text(encoding="utf-8"))
    return Draft202012Validator(json.loads(text))
