# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A job changes its slots and its role while its workers go on: sums stay exact."""

from __future__ import annotations

import dataclasses

import pytest

from lanesum.protocol import LaneOp
from lanesum_control.switches.switch import DESCEND, JOB_TABLES, LOOKUP, MEMBER, RECEIVER, P4RuntimeSwitch
from lanesum_fabric.errors import SwitchWriteError
from lanesum_fabric.program.switch_job import Role

from .oracle import aggregate
from .star import FIRST, SERVER, Place, Star, routed


def test_modify_slots_sums_moved_chunks_again(star: Star) -> None:
    """The old entries are left behind; retransmitted contributions go to the new ones."""
    job = star.admit(3, slot_base=0, slot_count=4)
    words = job.words(1)
    star.contribute(job, 0, words[0])
    star.contribute(job, 1, words[1])
    job = star.modify(job, dataclasses.replace(job.switch_job, slot_base=100))
    assert star.contribute(job, 2, words[2]) == []
    assert star.contribute(job, 2, words[2]) == job.pending([2])
    assert star.contribute(job, 0, words[0]) == []
    assert star.contribute(job, 1, words[1]) == job.result(aggregate(LaneOp.ADD32, words))


def test_modify_slots_back_continues_old_entries(star: Star) -> None:
    """Contributions never change, so earlier ones in the old entries are still valid."""
    job = star.admit(3)
    words = job.words(2)
    home, away = job.switch_job, dataclasses.replace(job.switch_job, slot_base=200)
    star.contribute(job, 0, words[0])
    moved = star.modify(job, away)
    star.contribute(moved, 1, words[1])
    job = star.modify(moved, home)
    star.contribute(job, 2, words[2])
    assert star.contribute(job, 0, words[0]) == job.pending([0, 2])
    assert star.contribute(job, 1, words[1]) == job.result(aggregate(LaneOp.ADD32, words))


def test_slots_beyond_a_smaller_range_are_routed(star: Star) -> None:
    """Workers keep their number of slots, while the range at the switch shrinks and grows."""
    job = star.admit(1, slot_count=4)
    words = job.words(3)[0]
    place = Place(slot=3)
    assert star.contribute(job, 0, words, place) == job.result(words, place)
    job = star.modify(job, dataclasses.replace(job.switch_job, slot_count=2))
    port, frame = job.contribution(0, words, place)
    assert star.exchange(port, frame) == routed(frame, SERVER)
    assert star.decisions()["refuse_slot"] == 1
    job = star.modify(job, dataclasses.replace(job.switch_job, slot_count=4))
    assert star.contribute(job, 0, words, place) == job.replay(0, words, place)


def test_modify_fan_in_keeps_completion(star: Star) -> None:
    """Another fan-in completes no old sum, and reopens no complete one."""
    job = star.admit(4, role=Role.ASCEND | Role.QUORUM, threshold=3)
    words = job.words(4)
    star.contribute(job, 0, words[0])
    star.contribute(job, 1, words[1])
    job = star.modify(job, dataclasses.replace(job.switch_job, threshold=2))
    assert star.contribute(job, 1, words[1]) == job.pending([0, 1])
    ((_, up),) = star.contribute(job, 2, words[2])
    total = aggregate(LaneOp.ADD32, words[:3])
    assert up[74:] == total.astype(">u4").tobytes()
    job = star.modify(job, dataclasses.replace(job.switch_job, threshold=4))
    port, frame = job.contribution(3, words[3])
    assert star.exchange(port, frame) == routed(frame, SERVER)
    assert star.slot_decisions()["pass_late"] == 1


def test_modify_role_to_a_rack_makes_sums_ascend(star: Star) -> None:
    job = star.admit(2)
    words = job.words(5)
    total = aggregate(LaneOp.ADD32, words)
    star.contribute(job, 0, words[0])
    job = star.modify(job, dataclasses.replace(job.switch_job, role=Role.ASCEND))
    assert star.contribute(job, 1, words[1]) == job.ascended(1, total)
    job = star.modify(job, dataclasses.replace(job.switch_job, role=Role(0)))
    assert star.contribute(job, 1, words[1]) == job.replay(1, total)


def test_modify_of_members_or_group_is_refused(star: Star) -> None:
    job = star.admit(2).switch_job
    fewer = dataclasses.replace(job, members=job.members[:1])
    for new in (fewer, dataclasses.replace(job, tag=job.tag ^ 1), dataclasses.replace(job, group=job.group + 1)):
        for control in (star.target.control, star.twin):
            with pytest.raises(SwitchWriteError):
                control.modify(job, new)
    gone = dataclasses.replace(job, job=0x7777)
    for control in (star.target.control, star.twin):
        with pytest.raises(SwitchWriteError):
            control.modify(gone, dataclasses.replace(gone, slot_count=2))


def test_entities_of_a_job_can_be_read_back(star: Star) -> None:
    """All entities that ``admit`` writes, by table; membership is last."""
    control = star.target.control
    if not isinstance(control, P4RuntimeSwitch):
        pytest.skip("the reference has no tables")
    job = star.admit(3, role=Role.ASCEND | Role.SHARED, uplinks=(6,), lease=77).switch_job
    results, members = control.job_entities(job)
    kinds = [entity.WhichOneof("entity") for entity in (*results, *members)]
    expected = {MEMBER: 3, DESCEND: 1, LOOKUP: 1, RECEIVER: 3}
    tables = [table for table in JOB_TABLES if table in control.tables]
    others = sum(expected[table] for table in tables if table != MEMBER)
    assert kinds == ["packet_replication_engine_entry"] + ["table_entry"] * (others + expected[MEMBER])
    assert (len(results), len(members)) == (1 + others, expected[MEMBER])
    read = {table: control.entries(table) for table in tables}
    assert {table: len(entries) for table, entries in read.items()} == {table: expected[table] for table in tables}
    params = read[MEMBER][0].params
    assert (params["role"], params["lease"], params["group"]) == (3, 77, job.group)
    star.clean_up()
    assert all(control.entries(table) == [] for table in tables)


def test_entities_without_code_table_and_uplink_are_fewer(star: Star) -> None:
    """No code table, no uplink: those entries are left out."""
    control = star.target.control
    if not isinstance(control, P4RuntimeSwitch):
        pytest.skip("the reference has no tables")
    job = star.admit(2, ops=(LaneOp.ADD32,))
    assert [len(step) for step in control.job_entities(job.switch_job)] == [3, 2]
    assert star.contribute(job, 0, job.words(6)[0], FIRST) == []
