# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Ports of aggregation servers on loopback, and links between switch processes."""

from __future__ import annotations

import socket

import pytest

from lanesum._internal.udp_socket import MAX_DATAGRAM_BYTES, open_udp_socket
from lanesum.errors import ConfigurationError
from lanesum_switch.frames import UdpFrame, ipv4_int, ipv4_text
from lanesum_switch.ports.topology import ServerPort, TrunkPort
from tests.free_ports import free_address
from tests.softswitch.ports.links import wait_frames


def test_server_receives_from_each_workers_address() -> None:
    """Topology: workers --- switch --- server port --- server."""
    server, backend = ("127.0.0.4", 19541), free_address("127.0.0.4")
    workers = tuple(free_address(host) for host in ("127.0.0.5", "127.0.0.6"))
    own = [open_udp_socket(worker, peer=server, shared=True) for worker in workers]
    port = ServerPort((server,), (backend,), b"\6" * 6, b"\4" * 6, workers, checksums=True)
    real = open_udp_socket(backend)
    real.setblocking(True)
    real.settimeout(120)

    def frame(source: tuple[str, int], payload: bytes, to: tuple[str, int] = server) -> bytes:
        return UdpFrame(b"\4" * 6, b"\6" * 6, ipv4_int(source[0]), ipv4_int(to[0]), source[1], to[1], payload).pack(
            checksum=True
        )

    for number, worker in enumerate(workers):
        port.send(frame(worker, b"from %d" % number))
        assert real.recvfrom(100) == (b"from %d" % number, worker)
        real.sendto(b"to %d" % number, worker)
    frames = wait_frames(port, 2)
    found = [UdpFrame.unpack(one) for one in frames]
    assert [(one.payload, ipv4_text(one.source_ip), one.source_port) for one in found if one] == [
        (b"to 0", *server),
        (b"to 1", *server),
    ]
    assert [(ipv4_text(one.destination_ip), one.destination_port) for one in found if one] == list(workers)
    for sock in own:  # no reply of the server bypasses the switch
        with pytest.raises(BlockingIOError):
            sock.recv(100)
    good = frame(workers[0], b"x")
    corrupted = good[:-1] + b"y"
    for bad in (frame(("127.0.0.7", 9), b"x"), frame(workers[0], b"x", ("127.0.0.8", 1)), corrupted, b"short"):
        port.send(bad)
    assert port.undeliverable == 4
    port.send(good)
    assert real.recv(100) == b"x"
    real.close()
    for _ in range(3):
        port.send(good)  # the server does not run
    assert port.receive_batch() == []
    real = open_udp_socket(backend)
    real.setblocking(True)
    real.settimeout(120)
    port.send(good)
    port.send(good)
    assert real.recv(100) == b"x"
    for closing in (port, real, *own):
        closing.close()
    port.close()


def test_exclusive_worker_address_raises_configuration_error() -> None:
    worker = free_address()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(worker)
        with pytest.raises(ConfigurationError, match=f"from the worker's address {worker[0]}:{worker[1]}"):
            ServerPort((("127.0.0.1", 1),), (("127.0.0.1", 2),), b"\6" * 6, b"\4" * 6, (worker,))


def test_port_for_several_servers_delivers_by_address() -> None:
    servers, worker = (("127.0.0.17", 19541), ("127.0.0.18", 19541)), free_address("127.0.0.19")
    reals = [open_udp_socket((server[0], 0)) for server in servers]
    backends = tuple(real.getsockname() for real in reals)
    port = ServerPort(servers, backends, b"\6" * 6, b"\4" * 6, (worker,))
    for number, server in enumerate(servers):
        source_ip, server_ip = ipv4_int(worker[0]), ipv4_int(server[0])
        frame = UdpFrame(b"\4" * 6, b"\6" * 6, source_ip, server_ip, worker[1], server[1], b"to %d" % number)
        port.send(frame.pack())
        assert reals[number].recvfrom(100) == (b"to %d" % number, worker)
        reals[number].sendto(b"from %d" % number, worker)
    found = [UdpFrame.unpack(one) for one in wait_frames(port, 2)]
    assert {(one.payload, ipv4_text(one.source_ip)) for one in found if one} == {
        (b"from 0", servers[0][0]),
        (b"from 1", servers[1][0]),
    }
    for closing in (port, *reals):
        closing.close()


def test_trunk_works_again_after_restart_of_peer() -> None:
    addresses = free_address("127.0.0.2"), free_address("127.0.0.3")
    near, far = TrunkPort(*addresses), TrunkPort(*addresses[::-1])
    frames = [bytes([n]) * 600 for n in range(100)]  # more than one batch
    for frame in frames:
        near.send(frame)
    assert wait_frames(far, 100) == frames
    far.close()
    near.send(b"the peer is closed")
    assert near.receive_batch() == []
    far = TrunkPort(*addresses[::-1])
    near.send(b"again")
    near.send(b"and again")
    assert b"and again" in wait_frames(far, 1)
    far.send(b"back")
    assert wait_frames(near, 1) == [b"back"]
    with pytest.raises(ConfigurationError, match=r"cannot use the address 127\.0\.0\.3"):
        TrunkPort(*addresses[::-1])
    near.close()
    far.close()


def test_trunk_drops_and_counts_too_long_frame() -> None:
    """An exception would end the port that the frame came from."""
    addresses = free_address("127.0.0.2"), free_address("127.0.0.3")
    near, far = TrunkPort(*addresses), TrunkPort(*addresses[::-1])
    near.send(bytes(MAX_DATAGRAM_BYTES + 100))
    near.send(b"next")
    assert (wait_frames(far, 1), near.unsent) == ([b"next"], 1)
    near.close()
    far.close()
