# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The loop that serves ports.

memory port 0 --- switch --- memory port 1
"""

from __future__ import annotations

from lanesum_switch.ports.port import MemoryPort, Port
from lanesum_switch.ports.runner import PortRunner, queue_depths
from tests.softswitch.ports.links import Crossover


def test_runner_carries_and_counts_frames() -> None:
    left, right = MemoryPort(), MemoryPort()
    with PortRunner(Crossover(), {0: left, 1: right}) as runner:
        for i in range(200):
            left.put(str(i).encode())
        right.put(b"back")
        left.put(b"lost")
        assert right.wait_sent(200) == [str(i).encode() for i in range(200)]
        assert left.wait_sent(1) == [b"back"]
        runner.inject(1, b"packet out")
        assert left.wait_sent(2)[1] == b"packet out"
    counts = runner.counts
    assert counts.received == {0: 201, 1: 1}
    assert counts.sent == {0: 2, 1: 200}
    assert counts.no_port == 1


def test_runner_serves_again_after_stop() -> None:
    left, right = MemoryPort(), MemoryPort()
    runner = PortRunner(Crossover(), {0: left, 1: right})
    runner.start()
    runner.stop()
    left.put(b"late")
    runner.start()
    assert right.wait_sent(1) == [b"late"]
    runner.close()
    runner.close()


def test_queue_depths_of_ports_without_backlog_are_zero() -> None:
    class BackloggedPort(MemoryPort):
        def backlog(self) -> int:
            return 12

    ports: dict[int, Port] = {}
    depth = queue_depths(ports)
    assert depth(0) == 0
    ports.update({0: BackloggedPort(), 1: MemoryPort()})
    assert [depth(number) for number in (0, 1, 2)] == [12, 0, 0]
    for port in ports.values():
        port.close()
