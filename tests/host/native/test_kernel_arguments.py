# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Argument records of the kernels: Python and the native extension name the same fields in the same order."""

from __future__ import annotations

import re
from typing import Any

from lanesum.codecs.kernels import interface
from lanesum.codecs.thc import dither
from lanesum_lab.baselines.thc_paper import reference as paper
from tests.paths import ROOT

RECORDS: dict[str, Any] = {
    name: one
    for module in (interface, dither, paper)
    for name, one in vars(module).items()
    if hasattr(one, "_fields") and one.__module__ == module.__name__ and one is not interface.Kernels
}


def test_native_extension_knows_all_records(native: Any) -> None:
    assert set(native.KERNEL_ARGUMENTS) == set(RECORDS)


def test_struct_and_caster_have_fields_of_record() -> None:
    header = (ROOT / "host/native/src/bindings/arguments.hpp").read_text()
    for name, record in RECORDS.items():
        (struct,) = re.findall(rf"struct {name} {{(.*?)}};", header, re.DOTALL)
        assert tuple(re.findall(r"(\w+);", struct)) == record._fields
        (caster,) = re.findall(rf"struct type_caster<records::{name}>(.*?){{}};", header, re.DOTALL)
        assert tuple(re.findall(rf"&records::{name}::(\w+)", caster)) == record._fields
