# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Capabilities are read from the P4Info, and jobs are placed only on switches with the required ones."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf import text_format

from lanesum import codecs
from lanesum.protocol import LaneOp
from lanesum.protocol.spec import BUILT_ACCUMULATOR_WORDS
from lanesum_control.controller.controller import JobRequest
from lanesum_control.errors import AdmissionError
from lanesum_control.state.store import Store
from lanesum_fabric.errors import NotOfferedError
from lanesum_fabric.program.capabilities import EVERYTHING, Capabilities, owner_word
from lanesum_fabric.program.pipelines import bmv2_pipeline, tofino_pipeline
from lanesum_fabric.program.switch_job import HostPort, Member, Role, SwitchJob
from lanesum_fabric.protobufs import p4info_pb2
from lanesum_fabric.tofino.chips import PROFILES, TofinoProfile
from tests.control_plane.control_fakes import Site, request, what

ON_CHIP = {
    LaneOp.ADD32, LaneOp.EXPAND8, LaneOp.ADD8X4, LaneOp.OR, LaneOp.MAX, LaneOp.EXPAND16, LaneOp.EXPAND8TO16,
}  # fmt: skip
# Operations that the chip leaves to the server.
OFF_CHIP = ", ".join(op.name for op in LaneOp if op not in ON_CHIP)
CHIP = tofino_pipeline("tofino1-w32").capabilities


def tag_with(job: int, word: int) -> int:
    """Return the tag that gives a job this owner word: a CRC is linear, so its bits are chosen one by one."""
    base = owner_word(job, 0)
    rows = {}  # highest bit -> (change of the word, bits of the tag that cause it)
    for bit in range(32):
        change, tag = owner_word(job, 1 << bit) ^ base, 1 << bit
        while change and change.bit_length() in rows:
            other, its_tag = rows[change.bit_length()]
            change, tag = change ^ other, tag ^ its_tag
        rows[change.bit_length()] = (change, tag)
    left, found = word ^ base, 0
    while left:
        change, tag = rows[left.bit_length()]
        left, found = left ^ change, found ^ tag
    assert owner_word(job, found) == word
    return found


def switch_job(number: int = 1, tag: int = 7, *, ports: tuple[int, ...] = (0, 1), ops: tuple[LaneOp, ...]) -> SwitchJob:
    members = tuple(Member(bit, (HostPort(port, 0x0A000001 + bit, bytes(6)),), 19539) for bit, port in enumerate(ports))
    return SwitchJob(number, tag, 0, 10, number, members, ops)


@pytest.mark.parametrize("words", BUILT_ACCUMULATOR_WORDS)
def test_bmv2_offers_everything(words: int) -> None:
    assert bmv2_pipeline(words).capabilities == EVERYTHING
    assert bmv2_pipeline(words).slots == 1024


def test_capabilities_of_the_chip_program() -> None:
    pipes = frozenset(range(4))
    expected = Capabilities(frozenset(ON_CHIP), owner_words=True, icmp=False, pipes=True, combining_pipes=pipes)
    assert dataclasses.replace(expected, redirects=True, shortens=False) == CHIP


@pytest.mark.parametrize("built", PROFILES, ids=lambda built: built.name)
def test_profile_agrees_with_its_p4info(built: TofinoProfile) -> None:
    """Compare slots, registers of the words of a pass, and number of passes."""
    pipeline = tofino_pipeline(built.name)
    assert pipeline.slots == built.slots
    assert pipeline.accumulator_words == built.accumulator_words
    registers = text_format.Parse(pipeline.p4info, p4info_pb2.P4Info(), allow_unknown_field=True).registers
    sizes = {register.preamble.name: register.size for register in registers}
    words = {name: size for name, size in sizes.items() if ".words_" in name}
    assert len(words) * built.passes == built.accumulator_words
    assert set(words.values()) == {2 * built.slots * built.passes}
    assert pipeline.capabilities == dataclasses.replace(CHIP, one_pass=built.passes == 1)


def test_owner_word_equals_that_of_the_program() -> None:
    """CRC-32 of job and tag, most significant byte first, with the check value of CRC catalogues."""
    assert owner_word(0x3132, 0x33343536) == 0x0972D361  # "123456"


@pytest.mark.parametrize("op", sorted(set(LaneOp) - ON_CHIP), ids=lambda op: op.name)
def test_check_missing_operation_is_refused(op: LaneOp) -> None:
    with pytest.raises(NotOfferedError, match=f"Job 1 may use {op.name}, which the switch's program does not sum"):
        CHIP.check(switch_job(ops=(LaneOp.ADD32, op)), [])
    CHIP.check(switch_job(ops=(LaneOp.ADD32,)), [])
    EVERYTHING.check(switch_job(ops=(LaneOp.ADD32, op)), [])


def test_two_jobs_with_one_owner_word_are_refused() -> None:
    ops = (LaneOp.ADD32,)
    tag = tag_with(2, owner_word(1, 7))
    with pytest.raises(NotOfferedError, match=r"CRC-32 of those of job 1\. Give the job another number or tag"):
        CHIP.check(switch_job(2, tag, ops=ops), [(1, 7)])
    CHIP.check(switch_job(2, tag ^ 1, ops=ops), [(1, 7)])
    CHIP.check(switch_job(1, 7, ops=ops), [(1, 7)])
    EVERYTHING.check(switch_job(2, tag, ops=ops), [(1, 7)])


def test_check_owner_word_zero_is_refused() -> None:
    with pytest.raises(NotOfferedError, match="is 0, which means no owner"):
        CHIP.check(switch_job(5, tag_with(5, 0), ops=(LaneOp.ADD32,)), [])


def test_members_in_several_pipes_are_refused() -> None:
    with pytest.raises(
        NotOfferedError,
        match=r"at pipes 0, 1 of the chip, and a pipe sums alone\. Connect them to one pipe that has a rec",
    ):
        CHIP.check(switch_job(ports=(0, 128), ops=(LaneOp.ADD32,)), [])
    CHIP.check(switch_job(ports=(128, 129), ops=(LaneOp.ADD32,)), [])
    EVERYTHING.check(switch_job(ports=(0, 128), ops=(LaneOp.ADD32,)), [])


def in_pipes(combining: int, **ports: tuple[int, ...]) -> SwitchJob:
    """Return a job with a worker at each port of ``own``, and a rack at those of each other pipe."""
    found = switch_job(ports=ports.pop("own"), ops=(LaneOp.ADD32,))
    racks = [
        Member(
            len(found.members) + number, tuple(HostPort(port, 0x0A000101 + port, bytes(6)) for port in at), 19539, True
        )
        for number, at in enumerate(ports.values())
    ]
    return dataclasses.replace(found, members=(*found.members, *racks), role=Role.UPPER, combining_pipe=combining)


def test_job_of_several_pipes_requires_combining_pipe() -> None:
    CHIP.check(in_pipes(1, own=(129,), rack=(0, 1), other=(256,)), [])
    CHIP.recirculating_at([196]).check(in_pipes(1, own=(129,), rack=(0, 1)), [])
    for lacking in (EVERYTHING, CHIP.recirculating_at([68])):
        with pytest.raises(NotOfferedError, match="several pipes of the chip, and pipe 1 cannot combine their sums"):
            lacking.check(in_pipes(1, own=(129,), rack=(0, 1)), [])


@pytest.mark.parametrize("ports", [{"own": (0,), "rack": (256,)}, {"own": (129,), "rack": (0, 256)}])
def test_members_of_one_sum_in_several_pipes_raise(ports: dict[str, tuple[int, ...]]) -> None:
    with pytest.raises(NotOfferedError, match=r"at pipes 0, (1|2) of the chip, and a pipe sums alone"):
        CHIP.check(in_pipes(1, **ports), [])


def test_workers_in_pipes_have_own_replicas_and_groups() -> None:
    """Job 4095 has the last group: its pipes' groups are below 32,768, and no other job's."""
    whole = dataclasses.replace(in_pipes(0, own=(0, 1), rack=(128, 129), other=(384,)), group=4095)
    assert CHIP.why_not_group(4095) is None
    assert CHIP.why_not_group(4096) == "its multicast group 4096 is above 4095, the last one of jobs there"
    assert [part.group for part in whole.parts] == [2 * 4096 + 4095, 4 * 4096 + 4095, 4095]
    replicas = [member.replica for member in whole.receivers]
    assert len(set(replicas)) == len(replicas) == 5
    assert [part.role_bits for part in whole.pipe_sums] == [Role.ASCEND | Role.COMBINED] * 2
    assert [part.fan_in for part in whole.parts] == [2, 1, 4]
    assert dataclasses.replace(whole, combining_pipe=3).pipe_sums[0].role_bits == Role.ASCEND | Role.COMBINED | 0x60


# The controller leaves missing operations to the server.


@pytest.fixture
def site() -> Site:
    site = Site()
    site.switches["s1"].capabilities = CHIP
    return site


def test_switch_gets_the_operations_that_it_sums(site: Site) -> None:
    admitted = site.start().admit(request(codec="thc-paper"))
    job = admitted.switch_jobs["s1"]
    assert set(job.ops) == ON_CHIP
    assert job.code_table is None
    assert admitted.tickets[0].code_table is not None
    assert any(op.shape.lookup for op in admitted.tickets[0].ops)


def test_admitted_job_names_operations_left_to_the_server(site: Site) -> None:
    controller = site.start()
    controller.admit(request(codec="thc-paper"))
    assert f"s1 leaves {OFF_CHIP} to the server" in what(controller, "a")[0]


def test_codec_without_lookup_in_switches_uses_no_table(site: Site) -> None:
    """Switch and server add codes unchanged; workers build their codec by their tickets."""
    admitted = site.start().admit(request())
    assert {ticket.code_table for ticket in admitted.tickets} == {None}
    assert admitted.switch_jobs["s1"].code_table is None
    assert not any(op.shape.lookup for op in admitted.tickets[0].ops)
    assert LaneOp.EXPAND8 in admitted.switch_jobs["s1"].ops
    codec = codecs.for_job("thc", workers=len(admitted.tickets), lookup=False)
    assert codec.code_table is None and codec.describe() != codecs.get("thc", workers=len(admitted.tickets)).describe()


def test_running_job_keeps_its_table(tmp_path: Path) -> None:
    """Its workers have built their codec with the table, so a restarted controller must keep it."""
    site, state = Site(), tmp_path / "state.db"
    with Store(state) as store:
        before = site.start(store=store).admit(request()).tickets
    site.switches["s1"].capabilities = CHIP
    site.switches["s1"].connected = False
    with Store(state) as store:
        controller = site.start(store=store)
        job = controller.job("a")
        assert job.tickets == before and before[0].code_table is not None
        assert not any(op.shape.lookup for op in job.switch_jobs["s1"].ops)
        controller.join("a", 0)
        controller.join("a", 1)
        controller.leave("a", "w1")
        assert controller.job("a").tickets[0].code_table is None, "the next incarnation is built by what is there"


def test_job_of_missing_operations_only_is_left_out(site: Site) -> None:
    admitted = site.start().admit(request(codec="thc-paper", ops=tuple(op for op in LaneOp if op.shape.lookup)))
    assert admitted.switch_jobs == {}
    assert admitted.left_out == {"s1": "its program sums none of the job's operations"}
    assert site.switches["s1"].jobs == {}


def test_upper_switch_omits_operations_that_rack_lacks() -> None:
    """The upper switch would never get that rack's sum."""
    site = Site("tree2x2")
    site.switches["s2"].capabilities = CHIP
    jobs = site.start().admit(request(codec="thc-paper")).switch_jobs
    assert set(jobs["s1"].ops) == set(LaneOp)
    assert jobs["s1"].code_table is not None
    assert set(jobs["s2"].ops) == set(jobs["s0"].ops) == ON_CHIP
    assert jobs["s0"].role == Role.UPPER


def test_upper_switch_is_left_out_with_unsummed_rack() -> None:
    site = Site("tree2x2")
    site.switches["s2"].capabilities = dataclasses.replace(EVERYTHING, ops=frozenset({LaneOp.OR}))
    admitted = site.start().admit(request(ops=(LaneOp.ADD32,)))
    assert set(admitted.switch_jobs) == {"s1"}
    assert "would lack the workers at s2" in admitted.left_out["s0"]


def test_upper_switch_is_left_out_without_common_operation() -> None:
    site = Site("tree2x2")
    for name, op in (("s1", LaneOp.ADD32), ("s2", LaneOp.OR)):
        site.switches[name].capabilities = dataclasses.replace(EVERYTHING, ops=frozenset({op}))
    admitted = site.start().admit(request(ops=(LaneOp.ADD32, LaneOp.OR)))
    assert {name: job.ops for name, job in admitted.switch_jobs.items()} == {"s1": (LaneOp.ADD32,), "s2": (LaneOp.OR,)}
    assert admitted.left_out["s0"] == "the racks' switches sum none of the job's operations in common"


def draws(monkeypatch: pytest.MonkeyPatch, next_tag: Callable[[], int]) -> None:
    drawn = secrets.randbits
    monkeypatch.setattr(
        "lanesum_control.jobs.records.secrets.randbits", lambda bits: next_tag() if bits == 32 else drawn(bits)
    )


def test_clashing_tag_is_replaced(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    controller = site.start()
    first = controller.admit(request("a", 1))
    word = owner_word(first.number, first.tickets[0].tag)
    tags = [tag_with(2, word), 1, tag_with(2, 0), 2, 77, 3]  # tag and epoch, three times
    draws(monkeypatch, lambda: tags.pop(0))
    second = controller.admit(JobRequest("b", ("w2",), slots=40))
    assert second.number == 2
    assert second.tickets[0].tag == 77
    assert set(site.switches["s1"].jobs) == {1, 2}


def test_tags_that_never_do_are_an_error(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    controller = site.start()
    first = controller.admit(request("a", 1))
    tag = tag_with(2, owner_word(first.number, first.tickets[0].tag))
    draws(monkeypatch, lambda: tag)
    with pytest.raises(AdmissionError, match=r"none of 8 random tags tells it from the other jobs\. Try again"):
        controller.admit(JobRequest("b", ("w2",), slots=40))
    assert set(site.switches["s1"].jobs) == {1}
