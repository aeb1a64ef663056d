# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Printed programs that a hostile controller pushes: a typed error or a switch that runs, and bounded memory."""

from __future__ import annotations

import random
import re

import pytest

from lanesum_switch.api import InvalidArgumentError, UnsupportedProgramError
from lanesum_switch.tna.switch import TofinoSwitch

from .conftest import printed

_HUGE = ("600000000", "99999999999999999999", "9" * 5000, "0x" + "f" * 20000, "0")
_WORDS = (*_HUGE, "__import__", "run", "}", "(", "<", '"', "hdr", "1", "w", "\n0 or exit()", "\ud800")


def outcome(text: str) -> str:
    try:
        TofinoSwitch().load(text.encode("utf-8", "surrogatepass"))
    except (InvalidArgumentError, UnsupportedProgramError) as error:
        return type(error).__name__
    return "loaded"


@pytest.mark.parametrize("number", _HUGE[:4])
@pytest.mark.parametrize("place", [r"bit<(\d+)>", r"Register<.*?>\(32w(\d+)"])
def test_number_beyond_its_limit_is_refused(place: str, number: str) -> None:
    text = printed("sum")
    found = re.search(place, text)
    assert found is not None
    with pytest.raises(InvalidArgumentError):
        TofinoSwitch().load((text[: found.start(1)] + number + text[found.end(1) :]).encode())


@pytest.mark.parametrize("field", ["resubmit_flag", "egress_rid_first"])
def test_metadata_without_field_set_by_switch_is_refused(field: str) -> None:
    text = printed("sum")
    assert f" {field};" in text
    with pytest.raises(UnsupportedProgramError, match=f"gress metadata without {field}"):
        TofinoSwitch().load(text.replace(f" {field};", " renamed;").encode())


@pytest.mark.long
@pytest.mark.parametrize("name", ["sum", "externs", "twice"])
def test_mutants_of_text_load_or_raise_typed_error(name: str) -> None:
    text, rng = printed(name), random.Random(name)
    words = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
    found = set()
    for _ in range(60):
        start, end = rng.choice(words)
        other, last = rng.choice(words)
        found.add(outcome(text[:start] + rng.choice([*_WORDS, "", text[other:last]]) + text[end:]))
    assert "InvalidArgumentError" in found
