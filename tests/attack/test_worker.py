# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Datagrams with the server's address at a worker's socket: counted, never fatal, never a wrong sum."""

from __future__ import annotations

import dataclasses
import errno
import itertools
import os
import secrets
import socket
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lanesum.protocol import Flag, Header, Kind, LaneOp, Packet
from lanesum.protocol.spec import HEADER
from lanesum.server import AggregationServer, Aggregator, ServerJob
from lanesum.transport import JobTicket, RoundSequence, SessionOptions, UdpTransport
from lanesum.transport.errors import MismatchError, ResultGoneError, TransportError
from tests.free_ports import free_address

WORDS, SLOTS, CHUNKS = 2, 4, 6
FIELDS = {field.name: st.integers(0, (1 << field.bits) - 1) for field in HEADER}
# Fields of a packet that the worker must drop: another version, job or tag.
FOREIGN = st.one_of(
    st.fixed_dictionaries({"version": FIELDS["version"].filter(lambda version: version != 2)}),
    st.fixed_dictionaries({"job": FIELDS["job"].filter(lambda job: job != 7)}),
    st.fixed_dictionaries({"tag": FIELDS["tag"].filter(lambda tag: tag != 0xC0FFEE)}),
)
CHANGES = st.dictionaries(st.sampled_from(sorted(FIELDS)), st.none(), max_size=4).flatmap(
    lambda names: st.fixed_dictionaries({name: FIELDS[name] for name in names})
)
KINDS = st.sampled_from([*Kind, 0, 9])
FLAGS = st.sampled_from([0, *Flag, Flag.PARTIAL | Flag.UPPER, Flag.BYPASS | Flag.RETRANSMISSION, 0xFF])


@st.composite
def datagrams(draw: st.DrawFn, changes: st.SearchStrategy[dict[str, int]]) -> bytes:
    """Draw an answer to a chunk of the round or near it, with changed fields and any length."""
    chunk = draw(st.integers(0, CHUNKS))
    header = Header(
        kind=draw(KINDS), flags=draw(FLAGS), job=7, tag=0xC0FFEE, chunk=chunk, slot=chunk % SLOTS,
        shadow=chunk // SLOTS % 2, workers=draw(st.sampled_from([0, 1, 2, 3, 4, 0xFFFFFFFF])), fan_in_workers=2,
        epoch=draw(st.sampled_from([0, 0, 0, 1, 0xFFFFFFFF])),
    )  # fmt: skip
    header = dataclasses.replace(header, **draw(changes))
    payload = draw(st.sampled_from([0, WORDS, WORDS, 1, 3, 50]))
    words = header.words
    data = Packet(header, np.full(payload, 0xBAD, np.uint32)).pack()
    if draw(st.booleans()):  # a length that the header does not announce
        data = dataclasses.replace(header, words=words).pack() + data[32:]
    return data[: draw(st.integers(0, len(data)))] if draw(st.integers(0, 4)) == 0 else data


def tickets(quorum: int) -> list[JobTicket]:
    return [
        JobTicket(
            job=7, tag=0xC0FFEE, worker=worker, workers=2, slots=SLOTS, accumulator_words=WORDS, quorum=quorum,
            local=("10.0.0.1", 1000 + worker),
        )
        for worker in range(2)
    ]  # fmt: skip


def check_counts(rounds: RoundSequence, completed: int) -> None:
    """Check that every packet was counted once, or completed a chunk."""
    stats = rounds.stats
    counted = stats.duplicate_results + stats.pending_replies + stats.conflicts + stats.foreign_packets
    assert stats.packets_received == counted + completed


@settings(deadline=None)
@given(
    strays=st.lists(st.tuples(st.integers(0, 40), st.one_of(st.binary(max_size=80), datagrams(FOREIGN))), max_size=40),
    quorum=st.sampled_from([0, 1]),
)
def test_foreign_datagrams_change_no_sum(strays: list[tuple[int, bytes]], quorum: int) -> None:
    """Foreign datagrams arrive between the answers of the real server."""
    aggregator = Aggregator()
    both = tickets(quorum)
    aggregator.admit(ServerJob.from_tickets(both))
    by_address = {ticket.local: RoundSequence(ticket) for ticket in both}
    words = [np.arange(CHUNKS * WORDS, dtype=np.uint32) * (1 + worker) for worker in range(2)]
    started = {ticket.local: by_address[ticket.local].start(LaneOp.ADD32, words[ticket.worker]) for ticket in both}
    step, completed = 0, dict.fromkeys(by_address, 0)
    while not all(round_.complete for round_ in started.values()):
        for address, rounds in by_address.items():
            for datagram in list(map(bytes, rounds.due(step * 1e-3))):
                for receiver, answer in aggregator.handle(address, datagram):
                    for _, stray in (one for one in strays if one[0] == step % 41):
                        assert not by_address[receiver].receive(stray, step * 1e-3)
                    completed[receiver] += by_address[receiver].receive(answer, step * 1e-3)
        step += 1
    for address, rounds in by_address.items():
        check_counts(rounds, completed[address])
        for got, (contributors,), *parts in zip(
            np.split(started[address].result(), CHUNKS), started[address].contributors(),
            *(np.split(one, CHUNKS) for one in words), strict=True,
        ):  # fmt: skip
            assert got.tolist() == sum(part for worker, part in enumerate(parts) if contributors >> worker & 1).tolist()


@settings(deadline=None)
@given(arriving=st.lists(st.one_of(st.binary(max_size=80), datagrams(CHANGES)), max_size=60), quorum=st.integers(0, 2))
def test_random_answers_end_session_by_typed_errors(arriving: list[bytes], quorum: int) -> None:
    """Packets with the right job and tag, but random other fields."""
    rounds = RoundSequence(tickets(quorum)[0])
    round_ = rounds.start(LaneOp.ADD32, np.zeros(CHUNKS * WORDS, np.uint32))
    completed = 0
    for step, datagram in enumerate(arriving):
        now = step * 1e-3
        rounds.due(now)
        try:
            completed += rounds.receive(datagram, now)
        except MismatchError:
            header = Header.unpack(datagram)
            assert header.kind == Kind.CONFLICT and len(datagram) == 32
            break
        except ResultGoneError:
            header = Header.unpack(datagram)
            assert quorum and header.kind == Kind.PENDING and header.flags & Flag.GONE
            return  # not counted as anything: the session is over
        timeout_s = rounds.next_timeout(now)
        assert round_.complete or timeout_s is not None
    assert completed == int(np.count_nonzero(round_.contributors().any(axis=1)))
    check_counts(rounds, completed)


class SocketWithNews:
    """Socket with the errors of ICMP messages before every ``every``-th call."""

    def __init__(self, sock: socket.socket, errors: list[int], every: int) -> None:
        self._socket = sock
        self._errors = itertools.cycle(errors)
        self._every = every
        self._calls = 0
        self.fileno, self.close = sock.fileno, sock.close

    def _tell(self) -> None:
        self._calls += 1
        if self._calls % self._every == 0:
            number = next(self._errors)
            raise OSError(number, os.strerror(number))

    def send(self, data: Any) -> int:
        self._tell()
        return self._socket.send(data)

    def recv_into(self, buffer: bytearray) -> int:
        self._tell()
        return self._socket.recv_into(buffer)


def run_alone(errors: list[int], every: int) -> NDArray[np.uint32]:
    with AggregationServer(("127.0.0.1", 0)) as server:
        ticket = JobTicket(
            job=7, tag=secrets.randbits(32), worker=0, workers=1, slots=4, accumulator_words=WORDS,
            servers=(server.address,), local=free_address(),
        )  # fmt: skip
        server.aggregator.admit(ServerJob.from_tickets([ticket]))
        wrap = lambda sock: SocketWithNews(sock, errors, every)  # noqa: E731
        transport = UdpTransport(ticket, SessionOptions(wrap_socket=wrap, deadline_s=60))
        try:
            return transport.exchange(LaneOp.ADD32, np.arange(100, dtype=np.uint32)).result()
        finally:
            transport.close()


FORGED_NEWS = [
    errno.ECONNREFUSED, errno.EMSGSIZE, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENONET,
    errno.ENOPROTOOPT, errno.EPROTO,
]  # fmt: skip


@pytest.mark.parametrize("every", [2, 3])
def test_session_forged_icmp_errors_do_not_end_it(every: int) -> None:
    """Any host can forge such a message; a flood of them makes every second call fail."""
    assert run_alone(FORGED_NEWS, every).tolist() == list(range(100))


@pytest.mark.parametrize("number", [errno.EACCES, errno.EINVAL])
def test_session_persistent_send_error_is_raised(number: int) -> None:
    """The error persists, or no ICMP message can cause it."""
    with pytest.raises(TransportError, match=os.strerror(number)):
        run_alone([number], 1)
