# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fault plans: valid ones, and errors with the line."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import jsonschema
import pytest
import yaml

from lanesum_fabric import resources
from lanesum_fabric.yaml_model import schema_text
from lanesum_switch.faults.plan import FaultPlan, FaultPlanError, Names, available, same_link

NAMES = Names(frozenset({"w1", "server", "s1-s0"}), frozenset({"s1", "w1", "server", "controller"}), frozenset({"s1"}))


@pytest.mark.parametrize("name", sorted(available()))
def test_shipped_plan_is_valid_and_fits_the_schema(name: str) -> None:
    plan = FaultPlan.load(name)
    assert plan.rules
    jsonschema.validate(yaml.safe_load(available()[name].read_text()), json.loads(schema_text(FaultPlan)))


def test_committed_schema_is_up_to_date() -> None:
    assert (resources.directory("faults", "lanesum_switch") / "schema.json").read_text() == schema_text(FaultPlan)
    jsonschema.Draft202012Validator.check_schema(json.loads(schema_text(FaultPlan)))


def test_plan_with_all_kinds_of_faults_is_parsed() -> None:
    plan = FaultPlan.parse(
        """
seed: 9
rules:
  - {kind: drop, where: w1, direction: up, packet: contribution, probability: 0.25}
  - {name: twice, kind: duplicate, nth: [1, 4], copies: 3}
  - {kind: delay, where: s0-s1, delay_ms: 2.5, jitter_ms: 1}
  - {kind: flip, part: header, packet: result, nth: 2}
memory:
  - {switch: s1, probability: 0.5}
  - {name: owners, switch: s1, of: slots, nth: [3, 4]}
processes:
  - {kind: kill, process: s1, after: {where: w1, packet: result, nth: 10}, restart_after_s: 2}
  - {kind: pause, process: server, at_s: 1, for_s: 0.5}
""",
        "plan.yaml",
        NAMES,
    )
    assert (plan.seed, plan.labels) == (9, ["1 drop", "twice", "3 delay", "4 flip", "1 sums of s1", "owners"])
    assert plan.rules[1].exact == {1, 4}
    assert plan.memory[1].exact == {3, 4}
    assert [trigger.nth for trigger in plan.triggers] == [10]
    assert plan.rules[0].covers("w1", "up")
    assert not plan.rules[0].covers("w1", "down")
    assert plan.rules[2].covers("s1-s0", "down")
    assert not plan.rules[2].covers("w1", "down")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "p:1: the file is empty"),
        ("rules: [", "p:1: "),
        ("rules:\n  - {kind: drop}\nseed: 1\nrules: []", "p:4: duplicate key 'rules', which line 1 has already."),
        ("rules:\n  - {kind: drop, nth: 1,\n     nth: 2}", "p:3: duplicate key 'nth', which line 2 has already."),
        ("rules:\n  - {kind: vanish}", "p:2: rules.0.kind: Input should be 'drop', 'duplicate'"),
        ("rules:\n  - {kind: drop}\n  - {kind: drop, probability: 2}", "p:3: rules.1.probability:"),
        ("rules:\n  - {kind: drop, nth: 0}", "p:2: rules.0.nth"),
        ("rules:\n  - {kind: drop, nth: 1, probability: 0.5}", "a probability or nth, not both"),
        ("rules:\n  - {kind: delay}", "p:2: rules.0: delay needs delay_ms"),
        ("rules:\n  - {kind: drop, delay_ms: 1}", "delay_ms has no meaning for drop"),
        ("rules:\n  - {kind: reorder, delay_ms: 1, copies: 2}", "copies has no meaning for reorder"),
        ("rules:\n  - {kind: drop, part: words}", "part has no meaning for drop"),
        ("rules:\n  - {kind: flip, delay_ms: 1}", "delay_ms has no meaning for flip"),
        ("rules:\n  - {kind: flip, packet: other}", "p:2: rules.0: flip changes lanesum packets only"),
        ("memory:\n  - {switch: s1, nth: 1, probability: 0.5}", "a probability or nth, not both"),
        ("memory:\n  - {switch: s9}", "p:2: memory.0: there is no embedded switch 's9'; use s1"),
        ("memory:\n  - {switch: s1, of: heaps}", "p:2: memory.0.of: Input should be 'sums' or 'slots'"),
        (
            "rules:\n  - {name: a, kind: drop}\nmemory:\n  - {name: a, switch: s1}",
            "p:4: memory.0: two rules are called",
        ),
        ("rules:\n  - {kind: drop, packet: other, epoch: 1}", "epoch and chunk have no meaning for packet: other"),
        ("rules:\n  - {kind: drop, where: S1}", "p:2: rules.0.where:"),
        ("rules:\n  - {kind: drop, where: w9}", "p:2: rules.0: there is no link 'w9'; use one of s1-s0, server, w1"),
        ("rules:\n  - {kind: drop, often: 1}", "p:2: rules.0.often: Extra inputs"),
        ("rules:\n  - {name: a, kind: drop}\n  - {name: a, kind: drop}", "p:3: rules.1: two rules are called 'a'"),
        ("processes:\n  - {kind: kill, process: s1}", "p:2: processes.0: give exactly one of at_s, step and after"),
        ("processes:\n  - {kind: kill, process: s1, at_s: 1, step: 2}", "give exactly one of"),
        ("processes:\n  - {kind: pause, process: s1, at_s: 1}", "pause needs for_s"),
        ("processes:\n  - {kind: kill, process: s1, at_s: 1, for_s: 2}", "for_s has no meaning for kill"),
        (
            "processes:\n  - {kind: pause, process: s1, at_s: 1, for_s: 2, restart_after_s: 1}",
            "has no meaning for pause",
        ),
        ("processes:\n  - {kind: kill, process: s9, at_s: 1}", "there is no process 's9'; use one of controller, s1"),
        ("processes:\n  - {kind: kill, process: s1, after: {where: w9}}", "there is no link 'w9'"),
    ],
)
def test_invalid_plan_is_refused_with_its_line(text: str, error: str) -> None:
    with pytest.raises(FaultPlanError) as caught:
        FaultPlan.parse(text, "p", NAMES)
    assert error in str(caught.value)
    assert str(caught.value).startswith("p:")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_unknown_plan_error_names_shipped_plans(tmp_path: Path) -> None:
    with pytest.raises(FaultPlanError, match="everything-dies, flips, lossy"):
        FaultPlan.load(tmp_path / "none.yaml")


def test_link_name_from_either_end_is_the_same() -> None:
    assert same_link("s1-s0", "s0-s1")
    assert same_link("w1", "w1")
    assert not same_link("w1", "w2")
    assert not same_link("s1-s0", "s1-s2")


def test_plan_touches_only_links_with_rules_or_triggers() -> None:
    plan = FaultPlan.parse("rules: [{kind: drop, where: w1}]\n", "p")
    assert plan.touches("w1")
    assert not plan.touches("w2")
    waiting = FaultPlan.parse("processes: [{kind: kill, process: s1, after: {where: w2}}]\n", "p")
    assert waiting.touches("w2")
    assert not FaultPlan.parse("seed: 1\n", "p").touches("w1")
