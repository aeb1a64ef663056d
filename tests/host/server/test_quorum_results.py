# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs with a quorum: a chunk has one result, for every worker, at any time, and after a restart (INV-2)."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanesum.errors import ConfigurationError
from lanesum.protocol.packet import Header, Packet
from lanesum.protocol.spec import HEADER_BYTES, Flag, Kind
from lanesum.server import ServerDecision, ServerJob
from lanesum.server.native_aggregator import make_aggregator
from tests.host.server.contributions import ROUND_WORDS, Workers, flat, racks, served

pytestmark = pytest.mark.usefixtures("implementation")

JOURNAL = "job-7-00c0ffee.journal"
#: Flags of a result without all workers.
PARTIAL = Flag.PARTIAL | Flag.BYPASS


def job(members: dict | None = None, **fields: object) -> ServerJob:
    return served(flat(4) if members is None else members, **{"quorum": 3, "on_switches": True, **fields})


def complete(workers: Workers, *contributors: int, **how: int) -> Packet:
    answers = {}
    for worker in contributors:
        assert answers == {}
        answers = workers.send(worker, **how)
    assert list(answers) == list(range(len(workers.job.members)))
    return answers[0]


def test_partial_result_names_contributors_and_is_replayed() -> None:
    workers = Workers(job())
    result = complete(workers, 3, 0, 2)
    assert workers.check(result) == 0b1101
    assert (result.header.flags, result.header.workers, result.header.fan_in_workers) == (PARTIAL, 0b1101, 4)
    (late,) = workers.handle(1, workers.packet(1))
    assert late == (workers.members.addresses[1], result.pack())
    ((_, again),) = workers.handle(1, workers.packet(1, flags=Flag.RETRANSMISSION))
    assert Packet.unpack(again).header.flags == PARTIAL | Flag.RETRANSMISSION
    assert again[HEADER_BYTES:] == late[1][HEADER_BYTES:]


def test_partial_result_in_two_levels_names_contributors() -> None:
    workers = Workers(job(racks(2, 1, 2), quorum=3))
    in_rack_0 = workers.members.workers_in_racks(0b001) or 0
    workers.send(0, workers.aggregate(in_rack_0))
    (other,) = [one for one in range(5) if workers.members.indices[one].rack == 1]
    result = workers.send(other)[4]
    assert workers.check(result) == in_rack_0 | 1 << other
    header = result.header
    assert (header.flags, header.racks, header.workers, header.fan_in_racks) == (PARTIAL, 0b011, 0, 3)
    assert result.payload[-3:].tolist() == [0b11000, 0b01000, 0]


def test_result_of_all_workers_is_not_partial() -> None:
    workers = Workers(job(racks(2, 2), quorum=3))
    rack = workers.members.workers_in_racks(0b01) or 0, workers.members.workers_in_racks(0b10) or 0
    workers.send((rack[0] & -rack[0]).bit_length() - 1, workers.aggregate(rack[0]))
    result = workers.send((rack[1] & -rack[1]).bit_length() - 1, workers.aggregate(rack[1]))[0]
    assert workers.check(result) == 0b1111
    assert result.header.flags == Flag.BYPASS


def test_late_worker_gets_kept_result_or_gone() -> None:
    workers = Workers(job(slots=1, kept_results=4))
    results = [complete(workers, 0, 1, 2, chunk=chunk).pack() for chunk in range(6)]
    for chunk in (2, 3, 4, 5):  # the last four results
        assert workers.handle(3, workers.packet(3, chunk)) == [(workers.members.addresses[3], results[chunk])]
    for chunk in (0, 1):
        ((_, gone),) = workers.handle(3, workers.packet(3, chunk))
        header = Packet.unpack(gone).header
        assert (header.kind, header.flags, header.chunk, header.words) == (Kind.PENDING, Flag.GONE, chunk, 0)
    assert workers.aggregator.decisions[ServerDecision.REPORT_GONE] == 2


def test_contribution_to_older_chunk_is_answered_gone() -> None:
    workers = Workers(job())
    workers.send(0, chunk=8)
    assert workers.send(3, chunk=0)[3].header.flags == Flag.GONE


def test_result_capacity_covers_two_turns_of_slots() -> None:
    assert job(slots=100, kept_results=5).result_capacity == 200


def test_late_aggregate_is_answered_to_its_workers() -> None:
    workers = Workers(job(flat(5), slots=1, kept_results=2))
    result = complete(workers, 0, 1, 2).pack()
    answers = workers.handle(3, workers.aggregate(0b11000, flags=Flag.UPPER | Flag.PARTIAL))
    assert answers == [(workers.members.addresses[worker], result) for worker in (3, 4)]
    for chunk in (1, 2):
        complete(workers, 0, 1, 2, chunk=chunk)
    answered = workers.send(3, workers.aggregate(0b11000))
    assert {worker: answer.header.flags for worker, answer in answered.items()} == {3: Flag.GONE, 4: Flag.GONE}


def test_late_conflict_is_reported() -> None:
    workers = Workers(job())
    complete(workers, 0, 1, 2)
    answers = workers.send(3, racks=ROUND_WORDS + 8)
    assert {answer.header.kind for answer in answers.values()} == {Kind.CONFLICT} and len(answers) == 4
    assert (answers[0].header.racks, answers[0].header.workers) == (ROUND_WORDS, ROUND_WORDS + 8)


def test_results_survive_restart(tmp_path: Path) -> None:
    workers = Workers(job(), make_aggregator(tmp_path))
    results = {chunk: complete(workers, chunk % 4, (chunk + 1) % 4, (chunk + 2) % 4, chunk=chunk) for chunk in range(5)}
    workers.restart(tmp_path)
    for chunk, result in results.items():
        for worker in range(4):
            answers = workers.handle(worker, workers.packet(worker, chunk))
            assert answers == [(workers.members.addresses[worker], result.pack())]
    workers.send(0, chunk=5)
    workers.restart(tmp_path)  # chunk 5 was open: workers retransmit their contributions
    assert workers.check(complete(workers, 1, 2, 3, chunk=5)) == 0b1110


def test_evicted_results_stay_evicted_after_restart(tmp_path: Path) -> None:
    workers = Workers(job(slots=1, kept_results=2), make_aggregator(tmp_path))
    for chunk in range(7):
        complete(workers, 0, 1, 2, chunk=chunk)
    workers.restart(tmp_path)
    for chunk in range(7):
        for worker in (3, 2, 1):
            header = workers.send(worker, chunk=chunk)[worker].header
            assert (header.kind == Kind.RESULT) == (chunk >= 5)
            assert header.flags == (PARTIAL if chunk >= 5 else Flag.GONE)


def test_eviction_out_of_order_survives_restart(tmp_path: Path) -> None:
    workers = Workers(job(slots=1, kept_results=2), make_aggregator(tmp_path))
    for chunk in (7, 4, 6, 8):
        complete(workers, 0, 1, 2, chunk=chunk)
    workers.restart(tmp_path)
    for chunk in (7, 5, 4):
        assert workers.send(3, chunk=chunk)[3].header.flags == Flag.GONE
    assert workers.send(3, chunk=9) == {}


def test_result_numbers_continue_after_restart(tmp_path: Path) -> None:
    workers = Workers(job(slots=1, kept_results=2), make_aggregator(tmp_path))
    results: list[bytes] = []
    for chunk in range(8):
        results.append(complete(workers, 0, 1, 2, chunk=chunk).pack())
        workers.restart(tmp_path)
        for kept in range(chunk + 1)[-2:]:
            assert workers.handle(3, workers.packet(3, kept)) == [(workers.members.addresses[3], results[kept])]


def test_torn_record_loses_no_kept_result(tmp_path: Path) -> None:
    """A torn write damages the oldest record, whose result was evicted; the horizon must still say so."""
    workers = Workers(job(slots=1, kept_results=2), make_aggregator(tmp_path))
    for chunk in range(4):
        complete(workers, 0, 1, 2, chunk=chunk)
    before = (tmp_path / JOURNAL).read_bytes()
    complete(workers, 0, 1, 2, chunk=4)
    after = (tmp_path / JOURNAL).read_bytes()
    first = next(index for index in range(len(after)) if before[index] != after[index])
    (tmp_path / JOURNAL).write_bytes(after[: first + 2] + before[first + 2 :])
    workers.restart(tmp_path)
    assert [workers.send(3, chunk=chunk)[3].header.flags for chunk in (3, 2, 1, 0)] == [
        PARTIAL, PARTIAL, Flag.GONE, Flag.GONE,
    ]  # fmt: skip
    assert workers.check(complete(workers, 3, 2, 1, chunk=4)) == 0b1110


def test_journal_keeps_its_capacity(tmp_path: Path) -> None:
    workers = Workers(job(slots=1, kept_results=4), make_aggregator(tmp_path))
    results = [complete(workers, 0, 1, 2, chunk=chunk).pack() for chunk in range(8)]
    size = (tmp_path / JOURNAL).stat().st_size
    workers.job = dataclasses.replace(workers.job, kept_results=2)
    workers.restart(tmp_path)
    assert (tmp_path / JOURNAL).stat().st_size == size
    assert workers.handle(3, workers.packet(3, 4)) == [(workers.members.addresses[3], results[4])]
    assert workers.send(3, chunk=3)[3].header.flags == Flag.GONE


# Events in any order: a contribution of a worker or an aggregate of a switch to a chunk; a restart of the server, idle
# or in the middle of writing the result that the next contribution completes.
WORKERS = 5
events = st.lists(
    st.one_of(
        st.tuples(st.integers(0, WORKERS - 1), st.integers(0, 7)),
        st.tuples(st.integers(1, (1 << WORKERS) - 1).map(lambda workers: -workers), st.integers(0, 7)),
        st.just("restart"),
        st.floats(0, 1),
    ),
    max_size=60,
)


@settings(deadline=None)
@given(events=events, slots=st.sampled_from((1, 2, 8)), quorum=st.integers(1, WORKERS - 1))
def test_all_results_of_chunk_are_same_bytes(events: list, slots: int, quorum: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workers = Workers(job(flat(WORKERS), slots=slots, quorum=quorum, kept_results=1), make_aggregator(folder))
        path = folder / JOURNAL
        answered: dict[int, bytes] = {}
        torn: float | None = None
        for event in [*events, *((worker, chunk) for chunk in range(8) for worker in range(WORKERS))]:
            if event == "restart":
                workers.restart(folder)
                continue
            if isinstance(event, float):
                torn = event
                continue
            sender, chunk = event
            before = path.read_bytes()
            if sender < 0:
                answers = workers.handle((-sender & sender).bit_length() - 1, workers.aggregate(-sender, chunk))
            else:
                answers = workers.handle(sender, workers.packet(sender, chunk))
            after = path.read_bytes()
            if torn is not None and before != after:
                changed = [index for index in range(len(after)) if before[index] != after[index]]
                middle = changed[int(torn * (len(changed) - 1))]
                workers.aggregator.close()
                path.write_bytes(after[:middle] + before[middle:])
                workers.restart(folder)
                torn = None
                continue  # no answer was sent
            for _, datagram in answers:
                packet = Packet.unpack(datagram)
                if packet.header.kind == Kind.RESULT:
                    assert answered.setdefault(chunk, datagram) == datagram
                    workers.check(packet)
        workers.aggregator.close()


def test_result_is_refused_when_journal_write_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = Workers(job(), make_aggregator(tmp_path))
    workers.send(0)
    workers.send(1)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", lambda *_: 3)
        assert workers.send(2) == {}
        assert workers.aggregator.refused == {"journal not written": 1}
    result = workers.send(3)[0]
    assert workers.check(result) == 0b1111
    workers.restart(tmp_path)
    assert workers.send(0)[0].pack() == result.pack()


def test_foreign_and_damaged_records_are_ignored(tmp_path: Path) -> None:
    workers = Workers(job(), make_aggregator(tmp_path))
    complete(workers, 0, 1, 2)
    workers.aggregator.close()
    (tmp_path / JOURNAL).rename(tmp_path / "job-7-00000005.journal")
    other = Workers(job(tag=5), make_aggregator(tmp_path))
    assert other.send(3) == {}  # not answered with a result of the other incarnation
    result = complete(other, 0, 1)
    assert other.check(result) == 0b1011
    other.aggregator.close()

    path = tmp_path / "job-7-00000005.journal"
    content = bytearray(path.read_bytes())
    content[60] ^= 1
    path.write_bytes(content)
    other.restart(tmp_path)
    assert other.send(0) == {}


def test_truncated_journal_keeps_its_whole_records(tmp_path: Path) -> None:
    workers = Workers(job(), make_aggregator(tmp_path))
    results = [complete(workers, 0, 1, 2, chunk=chunk).pack() for chunk in range(3)]
    workers.aggregator.close()
    path = tmp_path / JOURNAL
    size = path.stat().st_size
    records = size // (workers.job.result_capacity + 1)
    os.truncate(path, records * 2 + records // 2)
    workers.restart(tmp_path)
    assert path.stat().st_size == size
    assert [workers.handle(3, workers.packet(3, chunk)) for chunk in (0, 1)] == [
        [(workers.members.addresses[3], result)] for result in results[:2]
    ]


def test_journals_of_old_incarnations_are_removed(tmp_path: Path) -> None:
    workers = Workers(job(), make_aggregator(tmp_path))
    Workers(job(job=70), workers.aggregator)
    workers.aggregator.admit(job(tag=5))
    assert {path.name for path in tmp_path.iterdir()} == {"job-7-00000005.journal", "job-70-00c0ffee.journal"}
    workers.aggregator.admit(served(flat(4), tag=6))  # without a quorum there is no journal
    assert {path.name for path in tmp_path.iterdir()} == {"job-70-00c0ffee.journal"}
    workers.aggregator.close()
    make_aggregator(tmp_path).remove(70)  # also without admitting it
    assert list(tmp_path.iterdir()) == []


def test_journal_locked_by_another_server_raises(tmp_path: Path) -> None:
    workers = Workers(job(), make_aggregator(tmp_path))
    with pytest.raises(ConfigurationError, match="cannot keep its results"):
        make_aggregator(tmp_path).admit(workers.job)
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="Give it a folder"):
        make_aggregator(tmp_path / "file").admit(workers.job)


def test_failed_admission_keeps_the_old_job(tmp_path: Path) -> None:
    workers = Workers(served(flat(4)), make_aggregator(tmp_path / "folder"))
    (tmp_path / "folder").rmdir()
    (tmp_path / "folder").write_text("")
    with pytest.raises(ConfigurationError):
        workers.aggregator.admit(job(tag=5))
    assert workers.aggregator.jobs == {7: workers.job}


def test_result_does_not_depend_on_last_packet() -> None:
    """Of the packet that completes a chunk or asks for a replay, no field and no other flag is in the result."""
    workers = Workers(job())
    workers.send(0)
    workers.send(1)
    result = workers.send(2, spare=3, fan_in_workers=77, flags=Flag.RETRANSMISSION | Flag.BYPASS)[0]
    assert result.header == dataclasses.replace(
        Header(),
        kind=Kind.RESULT,
        flags=PARTIAL | Flag.RETRANSMISSION,
        job=7,
        tag=0xC0FFEE,
        workers=0b111,
        fan_in_workers=4,
        words=8,
    )
    assert workers.send(3, spare=2, flags=Flag.ECN)[3].pack() == result.pack()


def test_journal_files_are_closed(tmp_path: Path) -> None:
    def opened() -> list[str]:
        links = (Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd"))
        return [os.readlink(link) for link in links if link.is_symlink() and str(tmp_path) in os.readlink(link)]

    workers = Workers(job(), make_aggregator(tmp_path))
    for tag in range(5):
        workers.aggregator.admit(job(tag=tag))
    assert opened() == [str(tmp_path / "job-7-00000004.journal")]
    workers.aggregator.close()
    assert opened() == []
