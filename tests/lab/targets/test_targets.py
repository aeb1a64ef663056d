# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The registry of switch targets."""

from __future__ import annotations

import dataclasses
import pickle
import shutil

import pytest

from lanesum.doctor import Severity
from lanesum.errors import ConfigurationError
from lanesum_fabric.tofino.chips import PROFILES
from lanesum_lab import targets
from lanesum_lab.targets import SwitchProcess, SwitchTarget


def process(interfaces: dict[int, str] | None) -> SwitchProcess:
    return SwitchProcess(name="s1", topology="star4", p4runtime="unix:/p4", interfaces=interfaces, faults=("--x",))


def test_names_of_built_in_targets() -> None:
    assert targets.names() == ["embedded", "bmv2", *(profile.name for profile in PROFILES), "tofino-model"]


def test_get_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match=r"no switch 'magic'. Known switches: embedded, bmv2, tofino1-w32"):
        targets.get("magic")


def test_register_name_twice_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'embedded' is registered already"):
        targets.register(dataclasses.replace(targets.get("embedded")))


@pytest.mark.parametrize("target", targets.targets(), ids=lambda target: target.name)
def test_target_of_every_kind_has_pipeline_and_command(target: SwitchTarget) -> None:
    pipeline = target.pipeline(None)
    assert pipeline.accumulator_words >= 32
    assert pipeline.capabilities.ops
    command = target.command(process({1: "s1-eth1"}))
    assert any("1@s1-eth1" in word for word in command)
    assert "unix:/p4" in command
    assert ("--x" in command) == target.injects_faults
    assert ("--loopback" in target.command(process(None))) if target.on_loopback else target.device is None


def test_pipeline_of_size_outside_profile_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="tofino1-w32 sums 32 words per packet, not 64"):
        targets.get("tofino1-w32").pipeline(64)
    assert targets.get("embedded").pipeline(128).accumulator_words == 128


@pytest.mark.parametrize("name", targets.names())
def test_target_reaches_other_processes(name: str) -> None:
    one = targets.get(name)
    assert pickle.loads(pickle.dumps(one)).pipeline(None).accumulator_words == one.pipeline(None).accumulator_words


def test_obstacle_without_the_executable_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    bmv2 = targets.get("bmv2")
    assert bmv2.obstacle == "simple_switch_grpc is not on PATH"
    finding = bmv2.finding()
    assert finding is not None and finding.status is Severity.NOTE
    assert targets.get("embedded").obstacle == ""
    assert targets.get("embedded").finding() is None
