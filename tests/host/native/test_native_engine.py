# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The native worker loop without ``UdpTransport``, in states that the transport does not reach."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from lanesum._internal.udp_socket import open_udp_socket
from lanesum.protocol import LaneOp
from lanesum.protocol.packet import Packet
from lanesum.protocol.spec import HEADER_BYTES, SLOT_RUN, WORD_BYTES, Kind
from lanesum.transport import JobTicket
from lanesum.transport.native_engine import NativeRoundSequence
from tests.host.transport.virtual_job import answer

HOST = "127.0.0.1"
WORDS = np.arange(100, dtype=np.uint32)
UDP_GRO = 104  # linux/udp.h


@pytest.fixture
def rounds(native: Any) -> NativeRoundSequence:
    return NativeRoundSequence(JobTicket(job=1, tag=2, worker=0, workers=2, slots=4))


@pytest.fixture
def silent() -> Any:
    """A socket whose peer never answers."""
    peer = open_udp_socket((HOST, 0))
    sock = open_udp_socket((HOST, 0), peer=peer.getsockname())
    yield sock
    sock.close()
    peer.close()


def test_loop_on_pipe_reports_errno(native: Any, rounds: NativeRoundSequence) -> None:
    reading, writing = os.pipe()
    loop = native.WorkerLoop(rounds.core, [reading], False, False)
    rounds.start(LaneOp.ADD32, WORDS)
    loop.begin(1.0, math.inf)
    assert loop.run(0.1) == native.LoopExit.RECEIVE_FAILED
    assert loop.error == errno.ENOTSOCK
    assert loop.send() == native.LoopExit.SEND_FAILED
    assert loop.error == errno.ENOTSOCK
    loop.close()
    os.close(reading)
    os.close(writing)


def test_loop_on_bad_descriptor_raises_and_leaks_none(native: Any, rounds: NativeRoundSequence) -> None:
    before = sorted(os.listdir("/proc/self/fd"))
    with pytest.raises(RuntimeError, match="Bad file descriptor"):
        native.WorkerLoop(rounds.core, [0, 1 << 20], False, False)
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_run_ends_at_slice_and_deadline(native: Any, rounds: NativeRoundSequence, silent: socket.socket) -> None:
    loop = native.WorkerLoop(rounds.core, [silent.fileno()], True, True)
    rounds.start(LaneOp.ADD32, WORDS)
    loop.begin(1e6, math.inf)
    begun = time.monotonic()
    assert loop.run(0.01) == native.LoopExit.SLICE
    assert time.monotonic() - begun >= 0.01
    loop.begin(0.3, math.inf)
    begun = time.monotonic()
    assert loop.run(1e6) == native.LoopExit.DEADLINE
    assert time.monotonic() - begun >= 0.3
    loop.begin(1e6, 0.2)
    begun = time.monotonic()
    assert loop.run(1e6) == native.LoopExit.DEADLINE
    assert time.monotonic() - begun >= 0.2
    loop.close()


def exit_of_run(loop: Any, rounds: NativeRoundSequence, end: Callable[[], None]) -> Any:
    """Run a round in a thread, call ``end`` when a packet was sent, and return the reason of the exit."""
    rounds.start(LaneOp.ADD32, WORDS)
    loop.begin(1e6, math.inf)
    with ThreadPoolExecutor(1) as pool:
        reason = pool.submit(loop.run, 1e6)
        while rounds.stats.packets_sent == 0:
            time.sleep(0.001)
        end()
        return reason.result()


def test_close_wakes_waiting_thread_and_is_idempotent(
    native: Any, rounds: NativeRoundSequence, silent: socket.socket
) -> None:
    loop = native.WorkerLoop(rounds.core, [silent.fileno()], True, True)
    assert exit_of_run(loop, rounds, loop.close) == native.LoopExit.CLOSED
    loop.close()
    assert loop.run(1.0) == loop.send() == loop.poll() == native.LoopExit.CLOSED


def test_failed_busy_polling_is_skipped(native: Any, rounds: NativeRoundSequence, silent: socket.socket) -> None:
    loop = native.WorkerLoop(rounds.core, [silent.fileno()], True, True, spin_s=0.01)
    rounds.start(LaneOp.ADD32, WORDS)
    loop.begin(1e6, math.inf)
    used = time.thread_time()
    for _ in range(100):
        assert loop.run(0.01) == native.LoopExit.SLICE
    # After one wait without success the next is skipped, then the next three, seven, 15 and 31: a few in all.
    assert time.thread_time() - used < 0.5
    loop.close()


def test_busy_polling_receives_datagram(native: Any, rounds: NativeRoundSequence) -> None:
    with open_udp_socket((HOST, 0)) as peer, open_udp_socket((HOST, 0), peer=peer.getsockname()) as sock:
        loop = native.WorkerLoop(rounds.core, [sock.fileno()], False, False, spin_s=0.5)
        round_ = rounds.start(LaneOp.ADD32, WORDS[:10])
        round_.core.set_target(round_.chunks)
        loop.begin(1e6, math.inf)
        exits: list[Any] = []
        thread = threading.Thread(target=lambda: exits.append(loop.run(200.0)))
        thread.start()
        peer.settimeout(200.0)
        contribution, worker = peer.recvfrom(2048)
        result = Packet.unpack(contribution)
        result.header.kind, result.header.workers, result.header.fan_in_workers = Kind.RESULT, 0b11, 2
        peer.sendto(result.pack(), worker)
        thread.join(200.0)
        assert exits == [native.LoopExit.REACHED]
        assert round_.result().tolist() == WORDS[:10].tolist()
        loop.close()


_THREADS_AT_EXIT = """
import threading, time
from lanesum.transport import JobTicket
from lanesum.transport.native_engine import NativeRoundSequence
from tests.host.transport.virtual_job import answer
from lanesum._internal.udp_socket import open_udp_socket
from lanesum_native import _core
ticket = JobTicket(job=1, tag=2, worker=0, workers=2, slots=4)
rounds = NativeRoundSequence(ticket)
peer = open_udp_socket(("127.0.0.1", 0))
sock = open_udp_socket(("127.0.0.1", 0), peer=peer.getsockname())
loop = _core.WorkerLoop(rounds.core, [sock.fileno()], False, False)
loop.close()  # poll returns at once then
def work():
    while True:
        loop.poll()
class Goodbye:
    def __del__(self, sleep=time.sleep):
        sleep(0.1)  # without the interpreter's lock, while the interpreter ends
goodbye = Goodbye()
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
"""


def test_threads_in_loop_at_exit_do_not_abort(native: Any) -> None:
    """They stay in the extension. Several threads, because some may return when the interpreter has ended."""
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", _THREADS_AT_EXIT], capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stderr) == (0, "")


def test_run_without_rounds_ends_at_slice(native: Any, rounds: NativeRoundSequence, silent: socket.socket) -> None:
    loop = native.WorkerLoop(rounds.core, [silent.fileno()], True, True)
    loop.begin(1e6, math.inf)
    assert loop.run(0.01) == native.LoopExit.SLICE
    assert loop.poll() == native.LoopExit.SLICE
    loop.close()


def test_wake_ends_run_once(native: Any, rounds: NativeRoundSequence, silent: socket.socket) -> None:
    """It also ends the next run, once for any number of calls."""
    loop = native.WorkerLoop(rounds.core, [silent.fileno()], True, True)
    assert exit_of_run(loop, rounds, loop.wake) == native.LoopExit.WOKEN
    loop.wake()
    loop.wake()
    assert [loop.run(0.01), loop.run(0.01)] == [native.LoopExit.WOKEN, native.LoopExit.SLICE]
    loop.close()
    loop.wake()


def test_messages_keep_runs_apart_after_reordered_results(native: Any) -> None:
    to = JobTicket(job=1, tag=2, worker=0, workers=1, slots=4 * SLOT_RUN)
    rounds = NativeRoundSequence(to)
    words = np.zeros(to.slots * to.accumulator_words, np.uint32)
    with open_udp_socket((HOST, 0)) as server, open_udp_socket((HOST, 0), peer=server.getsockname()) as sock:
        server.setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)
        loop = native.WorkerLoop(rounds.core, [sock.fileno()], True, True)

        def message_packets() -> list[int]:
            """Send what is due; return the number of packets in each message."""
            assert loop.send() == native.LoopExit.SLICE
            sizes = []
            with contextlib.suppress(BlockingIOError):
                while True:
                    sizes.append(len(server.recv(65536)) // (HEADER_BYTES + WORD_BYTES * to.accumulator_words))
            return sizes

        round_ = rounds.start(LaneOp.ADD32, words)
        assert message_packets() == [4 * SLOT_RUN]
        for chunk in range(SLOT_RUN, 4 * SLOT_RUN):
            rounds.receive(answer(to, workers=1, chunk=chunk), time.monotonic())
        assert message_packets() == [SLOT_RUN]  # retransmitted
        for chunk in range(SLOT_RUN):
            rounds.receive(answer(to, workers=1, chunk=chunk), time.monotonic())
        rounds.finish(round_)
        rounds.start(LaneOp.ADD32, words)
        assert message_packets() == [SLOT_RUN] * 4
        loop.close()
