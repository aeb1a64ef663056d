# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Journal: the horizon survives a restart where the kept results alone would not determine it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lanesum.aggregation.slots import Owner
from lanesum.errors import ConfigurationError
from lanesum.protocol import Header, Kind, Packet
from lanesum.protocol.spec import WORD_BYTES
from lanesum.server import AggregationServer
from lanesum.server.jobs import MAX_KEPT_RESULTS, MemberIndex, ServerJob
from lanesum.server.journal import Journal
from lanesum.server.member_table import MemberTable
from lanesum.server.quorum_results import QuorumResultCache

MEMBERS = {(f"10.0.0.{worker + 1}", 40000): MemberIndex(worker, 0, worker) for worker in range(2)}
JOB = ServerJob(job=1, tag=2, members=MEMBERS, slots=1, accumulator_words=2, quorum=1, kept_results=2)


def open_cache(folder: Path) -> tuple[Journal, QuorumResultCache]:
    journal = Journal(folder, JOB, MemberTable(JOB))
    return journal, QuorumResultCache(journal.result_capacity, journal.write, journal.recorded)


def record(cache: QuorumResultCache, chunk: int) -> None:
    header = Header(kind=Kind.RESULT, job=1, tag=2, chunk=chunk, workers=1)
    cache.record(Owner(0, 1, 2, 0, chunk, 20), Packet(header, np.zeros(2, np.uint32)).pack())


def test_horizon_of_results_out_of_order_survives_restart(tmp_path: Path) -> None:
    journal, cache = open_cache(tmp_path)
    for chunk in (5, 1, 2, 3):
        record(cache, chunk)
    assert cache.is_evicted(Header(chunk=4))
    journal.close()
    journal, cache = open_cache(tmp_path)
    assert cache.is_evicted(Header(chunk=4)) and cache.is_evicted(Header(chunk=5))
    assert not cache.is_evicted(Header(chunk=6))
    journal.close()


def test_record_with_a_damaged_word_is_not_read(tmp_path: Path) -> None:
    journal, cache = open_cache(tmp_path)
    for chunk in (1, 2):
        record(cache, chunk)
    journal.close()
    (path,) = tmp_path.glob("*.journal")
    record_bytes = path.stat().st_size // (journal.result_capacity + 1)
    with path.open("r+b") as file:
        file.seek(record_bytes - 2 * WORD_BYTES - 1)  # the first sum; a bitmap of each rack has room behind both
        file.write(b"\x01")
    journal, cache = open_cache(tmp_path)
    assert cache.find(Header(chunk=1)) is None and cache.find(Header(chunk=2)) is not None
    journal.close()


def test_server_without_a_writable_journal_does_not_start(tmp_path: Path) -> None:
    """Else it would refuse each job with a quorum, hours later."""
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "journals", Path("/proc/journals")):
        with pytest.raises(ConfigurationError, match="The server cannot keep its results in"):
            AggregationServer(("127.0.0.1", 0), journal_folder=folder)
    with AggregationServer(("127.0.0.1", 0), journal_folder=tmp_path / "new" / "journals") as server:
        assert not list((tmp_path / "new" / "journals").iterdir())
        (tmp_path / "new" / "journals" / "job-7-0.journal").mkdir()
        with pytest.raises(ConfigurationError, match=r"The server cannot keep its results in .*directory"):
            server.remove(7)


def test_journal_at_link_is_refused(tmp_path: Path) -> None:
    open_cache(tmp_path)[0].close()
    (path,) = tmp_path.glob("*.journal")
    path.rename(tmp_path / "elsewhere")
    path.symlink_to("elsewhere")
    with pytest.raises(ConfigurationError, match=r"Cannot write .*\.journal: it is a symbolic link to .*elsewhere"):
        open_cache(tmp_path)


def test_journal_larger_than_any_job_is_begun_anew(tmp_path: Path) -> None:
    """A sparse file takes no space, but reading it takes time and memory."""
    journal, _ = open_cache(tmp_path)
    journal.close()
    (path,) = tmp_path.glob("*.journal")
    record_bytes = path.stat().st_size // (journal.result_capacity + 1)
    with path.open("r+b") as file:
        file.truncate(record_bytes * (MAX_KEPT_RESULTS + 2))
    journal, _ = open_cache(tmp_path)
    assert journal.result_capacity == JOB.result_capacity
    journal.close()
