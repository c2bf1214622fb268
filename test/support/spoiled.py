"""Texts with one mistake each."""

from __future__ import annotations

import pytest


def spoiled(good: str, *mistakes: tuple[str, str, str]) -> pytest.MarkDecorator:
    """Run a test once for each mistake: `text` is the good one with the new part for the old, `words` tell the error.

    Each old part has to be in the good text, or nothing would be tested.
    """
    cases = []
    for old, new, words in mistakes:
        assert old in good, f"{old!r} is not in the text"
        cases.append(pytest.param(good.replace(old, new), words, id=f"{old}-{new}"[:60]))
    return pytest.mark.parametrize(("text", "words"), cases)
