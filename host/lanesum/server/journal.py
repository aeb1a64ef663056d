# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Decisions in a file, so that they outlive the server's process.

One file per job and tag: a ring of records of one size. Record ``n`` is in place ``n mod places``; there is one place
more than decisions are kept, so that what a torn write spoils was no longer kept anyway, and the record before it
says so in its horizon. A record is valid when its checksum is right and its datagram speaks of this job and tag.

What was written survives the end of the process, however sudden; after a power failure it may be lost, because waiting
for the disk would take longer than a round.
"""

from __future__ import annotations

import fcntl
import os
import struct
import zlib
from pathlib import Path

from lanesum.aggregation.slots import Owner
from lanesum.errors import ConfigurationError
from lanesum.protocol.packet import Packet, PacketError
from lanesum.protocol.spec import HEADER_BYTES, WORD_BYTES
from lanesum.server.history import Chunk, Recorded
from lanesum.server.jobs import ServerJob
from lanesum.server.roster import Roster

_CHECKSUM = struct.Struct(">I")
# number, is there a horizon, its epoch and chunk, round words, bytes of the datagram
_FIELDS = struct.Struct(">QBIIII")


def _file_name(job: int, tag: int) -> str:
    return f"job-{job}-{tag:08x}.journal"


def remove_journals(folder: Path, job: int, *, keep_tag: int | None = None) -> None:
    """Remove the journals of all incarnations of a job, but not of the one with ``keep_tag``."""
    kept = None if keep_tag is None else _file_name(job, keep_tag)
    for path in folder.glob(f"job-{job}-*.journal"):
        if path.name != kept:
            path.unlink(missing_ok=True)


class Journal:
    """The file of one incarnation of a job, made when it is not there yet.

    Args:
        folder: where journals are; made when it is not there.
        job: the job; its ``decisions_kept`` gives the size of a new ring.

    Attributes:
        keep: decisions that the ring holds for sure.
        recorded: decisions that were in the file, in order.

    Raises ConfigurationError when the file cannot be opened, its space is not to be had, or another server has it.
    """

    def __init__(self, folder: Path, job: ServerJob, roster: Roster) -> None:
        self._job, self._tag = job.job, job.tag
        datagram_bytes = HEADER_BYTES + (job.accumulator_words + roster.bitmap_words) * WORD_BYTES
        self._record_bytes = _CHECKSUM.size + _FIELDS.size + datagram_bytes
        path = folder / _file_name(job.job, job.tag)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _unusable(path, error) from error
        try:
            # Two servers that decide the same job would be two truths.
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._places = self._places_in_file(job)
            os.posix_fallocate(self._file, 0, self._places * self._record_bytes)
            self.recorded = self._read()
        except OSError as error:
            self.close()
            raise _unusable(path, error) from error
        self.keep = self._places - 1

    def _places_in_file(self, job: ServerJob) -> int:
        """A ring that is there keeps its size: in another one, numbers would have other places."""
        places, rest = divmod(os.fstat(self._file).st_size, self._record_bytes)
        return places if not rest and places > 2 * job.slots else job.decisions_kept + 1

    def write(self, decision: Recorded) -> None:
        """Put a decision in its place. Raises OSError when it could not be written whole."""
        record = self._pack(decision)
        offset = decision.number % self._places * self._record_bytes
        if os.pwrite(self._file, record, offset) != len(record):
            raise OSError("a record of the journal was not written whole")

    def close(self) -> None:
        """Leave the file as it is; idempotent."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _pack(self, decision: Recorded) -> bytes:
        horizon = decision.horizon
        fields = _FIELDS.pack(
            decision.number,
            horizon is not None,
            0 if horizon is None else horizon.epoch,
            0 if horizon is None else horizon.chunk,
            decision.owner.round_words,
            len(decision.datagram),
        )
        body = (fields + decision.datagram).ljust(self._record_bytes - _CHECKSUM.size, b"\0")
        return _CHECKSUM.pack(zlib.crc32(body)) + body

    def _unpack(self, record: bytes) -> Recorded | None:
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
        return Recorded(number, owner, datagram, Chunk(epoch, chunk) if has_horizon else None)

    def _read(self) -> list[Recorded]:
        records = (
            self._unpack(os.pread(self._file, self._record_bytes, place * self._record_bytes))
            for place in range(self._places)
        )
        decisions = [decision for decision in records if decision is not None]
        return sorted(decisions, key=lambda decision: decision.number)


def _unusable(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"The server cannot keep its decisions in {path}: {error.strerror or error}.",
        "Give it a folder of its own that it may write to, with room to spare.",
    )
