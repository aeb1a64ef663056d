# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The switch with the model as its data plane, after errors of the model; with a stand-in for its harness."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lanesum_lab.tofino_model.chips import TOFINO_1
from lanesum_lab.tofino_model.harness import Harness, TofinoModelError
from lanesum_lab.tofino_model.switch import ModelSwitch
from lanesum_switch.api import PacketOut, Replica
from tests.lab.tofino_model.stand_in import BAD_FRAME, stand_in
from tests.softswitch.tna.conftest import printed

FRAME = b"\x01\x02"
COPIES = [PacketOut(port, FRAME) for port in (5, 6, 7)]


@pytest.fixture
def switch(tmp_path: Path) -> Iterator[ModelSwitch]:
    (tmp_path / "context.json").write_text('{"tables": []}')
    with ModelSwitch(stand_in(tmp_path), tmp_path, TOFINO_1) as one:
        one.load(printed("sum").encode())
        one.set_multicast_group(1, [Replica(1, 0)])
        yield one


def commands(switch: ModelSwitch) -> str:
    """Return the configuration that the running model has got."""
    return (switch._scratch / "commands").read_text().replace(str(switch._scratch), "")


def test_model_after_error_restarts_without_bad_frames(switch: ModelSwitch) -> None:
    assert switch.process_batch([(5, FRAME)]) == COPIES
    before, scratch = commands(switch), switch._scratch
    with pytest.raises(TofinoModelError, match="refused a command: Bad frame"):
        switch.process_batch([(1, BAD_FRAME)])
    assert switch.process_batch([(5, FRAME)]) == COPIES
    assert commands(switch) == before == "wire 63 -> 68\nload /configuration\n"
    assert switch._scratch != scratch


def test_model_that_ended_starts_again(switch: ModelSwitch) -> None:
    ended = switch.harness
    ended.close()
    with pytest.raises(TofinoModelError, match="ended with status -9"):
        switch.process_batch([(5, FRAME)])
    assert switch.process_batch([(5, FRAME)]) == COPIES
    assert switch.harness is not ended


def test_exchange_that_is_interrupted_leaves_no_frames(switch: ModelSwitch) -> None:
    """As by the time limit of a test."""
    assert switch.process_batch([]) == []
    with pytest.MonkeyPatch.context() as patch:
        settle = Harness._settle

        def interrupt(harness: Harness) -> None:
            settle(harness)
            raise KeyboardInterrupt

        patch.setattr(Harness, "_settle", interrupt)
        with pytest.raises(KeyboardInterrupt):
            switch.process_batch([(1, FRAME)])
    assert switch.process_batch([(5, FRAME)]) == COPIES
