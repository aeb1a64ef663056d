# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Switches under test: the reference model, and every target of the registry ``lanesum_lab.targets``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS
from lanesum_fabric.program.pipelines import bmv2_pipeline
from lanesum_lab import targets
from lanesum_lab.targets import SwitchTarget
from lanesum_lab.veth import obstacle
from tests.reference import slot_table_of

from . import chip_model
from .in_process import ReferenceTarget, embedded_target
from .process import process_target
from .target import Target

REFERENCE = "reference"
_WITH_FAULTS = "-faults"


def _is_built(record: SwitchTarget) -> bool:
    try:
        record.pipeline(None)
    except ConfigurationError:
        return False
    return True


# The model of a chip is tested with each profile, and in this process: see ``chip_model``.
RECORDS = {record.name: record for record in targets.targets() if _is_built(record) and record.name != "tofino-model"}
TARGETS = (REFERENCE, *RECORDS, *chip_model.MODEL_PROFILES)
# The test builds of BMv2's program, with fault tables.
FAULT_TARGETS = tuple(f"{name}{_WITH_FAULTS}" for name in ("embedded", "bmv2"))


@contextlib.contextmanager
def open_target(name: str, accumulator_words: int | None = None) -> Iterator[Target]:
    """Start a target with a build of its program; skip the test, with the reason, where it cannot run.

    Args:
        name: one of ``TARGETS`` or ``FAULT_TARGETS``.
        accumulator_words: words per packet; None for the target's default.
    """
    if name == REFERENCE:
        yield ReferenceTarget(accumulator_words or DEFAULT_ACCUMULATOR_WORDS)
        return
    if name in chip_model.MODEL_PROFILES:
        with chip_model.model_target(name) as model:
            yield model
        return
    record = RECORDS[name.removesuffix(_WITH_FAULTS)]
    pipeline = bmv2_pipeline(with_faults=True) if name in FAULT_TARGETS else record.pipeline(accumulator_words)
    if record.device is not None:
        with embedded_target(name, record.device, pipeline, slot_table_of(record)) as embedded:
            yield embedded
        return
    reason = record.obstacle or obstacle()
    if reason:
        pytest.skip(reason)
    with process_target(name, record, pipeline) as process:
        yield process
