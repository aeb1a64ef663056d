# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Path MTU and socket buffers of a session."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
from typing import Any

import pytest

from lanesum._internal.udp_socket import BUFFER_BYTES, open_udp_socket
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import MAX_SLOTS, MAX_WORDS
from lanesum.transport import JobTicket, SessionOptions, UdpTransport
from lanesum.transport.path_check import buffer_bytes, check_path, path_mtu, result_bytes
from lanesum_lab.veth import obstacle

SERVER = ("127.0.0.1", 19539)


def ticket(**fields: Any) -> JobTicket:
    return JobTicket(**{"job": 1, "tag": 2, "worker": 0, "workers": 2, "slots": 64, "servers": (SERVER,), **fields})


def check(one: JobTicket, window: int) -> socket.socket:
    with contextlib.closing(open_udp_socket(one.local, peer=one.servers[0])) as sock:
        check_path(one, [sock.fileno()], window)
    return sock


def test_result_bytes_count_contributors_of_racks_and_quorum() -> None:
    places = ((0, 0), (0, 1), (2, 0), (2, 1))
    assert result_bytes(ticket(accumulator_words=256)) == 32 + 1024
    assert result_bytes(ticket(accumulator_words=256, quorum=1)) == 32 + 1024
    assert result_bytes(ticket(accumulator_words=256, workers=4, places=places)) == 32 + 1024
    assert result_bytes(ticket(accumulator_words=256, workers=4, places=places, quorum=3)) == 32 + 1024 + 3 * 4


def test_check_path_of_loopback_accepts_largest_packets() -> None:
    check(ticket(accumulator_words=MAX_WORDS), 1)
    assert path_mtu("127.0.0.1", SERVER) >= 65504 + 28


def test_check_path_too_large_window_raises_with_setting() -> None:
    large = ticket(accumulator_words=MAX_WORDS, slots=MAX_SLOTS)
    assert buffer_bytes(large, 1) > result_bytes(large)
    with pytest.raises(ConfigurationError, match=r"32,768 packets of 65,504 bytes need a socket buffer of") as error:
        check(large, MAX_SLOTS)
    half = buffer_bytes(large, MAX_SLOTS) // 2
    assert f"sysctl -w net.core.rmem_max={half}" in error.value.next_step
    assert "smaller accumulator_words" in error.value.next_step


def test_check_path_raises_buffer_of_large_window() -> None:
    one = ticket(accumulator_words=2048, slots=MAX_SLOTS)
    window = 2 * BUFFER_BYTES // buffer_bytes(one, 1) + 1
    assert buffer_bytes(one, window) > 2 * BUFFER_BYTES
    with contextlib.closing(open_udp_socket(one.local, peer=SERVER)) as sock:
        try:
            check_path(one, [sock.fileno()], window)
        except ConfigurationError:
            pytest.skip("this kernel grants no larger buffer")
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            assert sock.getsockopt(socket.SOL_SOCKET, option) >= buffer_bytes(one, window)


def test_check_path_default_window_is_held_by_buffers() -> None:
    for accumulator_words, slots in ((64, 8), (2048, MAX_SLOTS)):
        one = ticket(accumulator_words=accumulator_words, slots=slots)
        with contextlib.closing(open_udp_socket(one.local, peer=SERVER)) as sock:
            window = check_path(one, [sock.fileno()], None)
            held = min(sock.getsockopt(socket.SOL_SOCKET, option) for option in (socket.SO_RCVBUF, socket.SO_SNDBUF))
        assert 1 <= window <= slots
        assert buffer_bytes(one, window) <= held
        assert window == slots or buffer_bytes(one, window + 1) > held


def test_refused_transport_releases_port_and_ticket() -> None:
    with contextlib.closing(open_udp_socket(("127.0.0.1", 0))) as probe:
        local = probe.getsockname()
    large = ticket(accumulator_words=MAX_WORDS, slots=MAX_SLOTS, local=local, tag=77)
    with pytest.raises(ConfigurationError):
        UdpTransport(large, SessionOptions(window=MAX_SLOTS))
    UdpTransport(large, SessionOptions(window=1)).close()


@pytest.mark.skipif(bool(obstacle()), reason=obstacle() or "namespaces can be made")
def test_check_path_packets_above_mtu_raise() -> None:
    program = """
import subprocess
from lanesum.errors import ConfigurationError
from lanesum.transport import JobTicket, UdpTransport
for command in (
    "ip link add v0 mtu 1500 type veth peer name v1",
    "ip addr add 10.9.0.1/24 dev v0",
    "ip link set v1 up",
    "ip link set v0 up",
):
    subprocess.run(command.split(), check=True)
for words in (1440 // 4, 1440 // 4 + 1):
    ticket = JobTicket(
        job=1, tag=2, worker=0, workers=2, slots=4, accumulator_words=words, servers=(("10.9.0.2", 19539),),
        local=("10.9.0.1", 7),
    )
    try:
        UdpTransport(ticket).close()
        print("accepted")
    except ConfigurationError as error:
        print(error)
"""
    ran = subprocess.run(
        ["unshare", "--net", sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    accepted, refused = ran.stdout.splitlines()
    assert accepted == "accepted"
    assert "packets of 1,504 bytes" in refused
    assert "path MTU from worker 0 to 10.9.0.2 is 1,500 bytes: the packets would be fragmented" in refused
    assert "smaller packets: lanesum job admit --words 360" in refused
