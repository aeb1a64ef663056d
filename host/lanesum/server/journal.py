# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Journal: a file that keeps the results of a job with a quorum beyond the server's process.

There is one file for each job and tag: a ring of records of one size. Record ``n`` is at index ``n mod capacity``. The
ring has one record more than results are kept. So a torn write only damages a record that was evicted anyway, and the
horizon of the record before it says so. A record is valid if its checksum is right and its datagram has this job and
tag.

A written record survives the end of the process, however sudden. A power failure may lose it, because waiting for the
disk would take longer than a round.
"""

from __future__ import annotations

import fcntl
import os
import struct
import tempfile
import zlib
from pathlib import Path

from lanesum._internal.output_file import open_private
from lanesum.aggregation.slots import Owner
from lanesum.errors import ConfigurationError
from lanesum.protocol.packet import Packet, PacketError
from lanesum.protocol.spec import HEADER_BYTES, WORD_BYTES
from lanesum.server.jobs import MAX_KEPT_RESULTS, ServerJob
from lanesum.server.member_table import MemberTable
from lanesum.server.quorum_results import ChunkId, QuorumResult

_CHECKSUM = struct.Struct(">I")
# number, whether there is a horizon, its epoch and chunk, round words, bytes of the datagram
_FIELDS = struct.Struct(">QBIIII")


def _file_name(job: int, tag: int) -> str:
    return f"job-{job}-{tag:08x}.journal"


def remove_journals(folder: Path, job: int, *, keep_tag: int | None = None) -> None:
    """Remove the journals of all incarnations of a job, except the one with ``keep_tag``. Raises ConfigurationError."""
    kept = None if keep_tag is None else _file_name(job, keep_tag)
    try:
        for path in folder.glob(f"job-{job}-*.journal"):
            if path.name != kept:
                path.unlink(missing_ok=True)
    except OSError as error:
        raise _unusable(folder, error) from error


def check_folder(folder: Path) -> None:
    """Create a folder of journals, and check that files can be written there. Raises ConfigurationError."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, HEADER_BYTES)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise _unusable(folder, error) from error


class Journal:
    """The file of one incarnation of a job; created if it does not exist.

    Args:
        folder: folder of the journals; created if it does not exist.
        job: the job; its ``result_capacity`` gives the size of a new ring.

    Attributes:
        result_capacity: results that the ring keeps.
        recorded: results that were in the file, in order.

    Raises ConfigurationError: the file cannot be opened, its space cannot be allocated, or another server has locked
    it.
    """

    def __init__(self, folder: Path, job: ServerJob, members: MemberTable) -> None:
        self._job, self._tag = job.job, job.tag
        datagram_bytes = HEADER_BYTES + (job.accumulator_words + members.bitmap_words) * WORD_BYTES
        self._record_bytes = _CHECKSUM.size + _FIELDS.size + datagram_bytes
        path = folder / _file_name(job.job, job.tag)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = open_private(path)
        except OSError as error:
            raise _unusable(path, error) from error
        try:
            # Two servers with one job would complete different results.
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._capacity = self._capacity_in_file(job)
            os.posix_fallocate(self._file, 0, self._capacity * self._record_bytes)
            self.recorded = self._read()
        except OSError as error:
            self.close()
            raise _unusable(path, error) from error
        self.result_capacity = self._capacity - 1

    def _capacity_in_file(self, job: ServerJob) -> int:
        """Return the capacity of the ring. An existing one keeps it, because it determines the index of a number."""
        capacity, rest = divmod(os.fstat(self._file).st_size, self._record_bytes)
        kept = not rest and 2 * job.slots < capacity <= MAX_KEPT_RESULTS + 1
        return capacity if kept else job.result_capacity + 1

    def write(self, result: QuorumResult) -> None:
        """Write the record of a result. Raises OSError if it was not written completely."""
        record = self._pack(result)
        offset = result.number % self._capacity * self._record_bytes
        if os.pwrite(self._file, record, offset) != len(record):
            raise OSError("a record of the journal was not written completely")

    def close(self) -> None:
        """Close the file and leave it as it is; idempotent."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _pack(self, result: QuorumResult) -> bytes:
        horizon = result.horizon
        fields = _FIELDS.pack(
            result.number,
            horizon is not None,
            0 if horizon is None else horizon.epoch,
            0 if horizon is None else horizon.chunk,
            result.owner.round_words,
            len(result.datagram),
        )
        body = (fields + result.datagram).ljust(self._record_bytes - _CHECKSUM.size, b"\0")
        return _CHECKSUM.pack(zlib.crc32(body)) + body

    def _unpack(self, record: bytes) -> QuorumResult | None:
        body = record[_CHECKSUM.size :]
        if len(record) != self._record_bytes or _CHECKSUM.unpack_from(record)[0] != zlib.crc32(body):
            return None
        number, has_horizon, epoch, chunk, round_words, size = _FIELDS.unpack_from(body)
        datagram = body[_FIELDS.size : _FIELDS.size + size]
        try:
            header = Packet.unpack(datagram).header
        except PacketError:
            return None
        if (header.job, header.tag) != (self._job, self._tag):
            return None
        owner = Owner(header.op, header.job, header.tag, header.epoch, header.chunk, round_words)
        return QuorumResult(number, owner, datagram, ChunkId(epoch, chunk) if has_horizon else None)

    def _read(self) -> list[QuorumResult]:
        records = (
            self._unpack(os.pread(self._file, self._record_bytes, index * self._record_bytes))
            for index in range(self._capacity)
        )
        results = [result for result in records if result is not None]
        return sorted(results, key=lambda result: result.number)


def _unusable(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"The server cannot keep its results in {path}: {error.strerror or error}.",
        "Give it a folder of its own that it may write to, with enough free space.",
    )
