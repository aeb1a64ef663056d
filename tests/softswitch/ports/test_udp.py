# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Ports of hosts on UDP sockets."""

from __future__ import annotations

import pytest

from lanesum._internal.udp_socket import open_udp_socket
from lanesum.errors import ConfigurationError
from lanesum_switch.frames import UdpFrame, ipv4_int, ipv4_text
from lanesum_switch.ports.udp import UdpPort, UdpPortConfig, open_udp_ports
from tests.free_ports import free_address
from tests.softswitch.ports.links import wait_frames


def test_ports_share_server_address_but_no_host() -> None:
    """The rack switches of one run share it; a second run is refused."""
    server = free_address("127.0.0.9")

    def config(host: str) -> UdpPortConfig:
        return UdpPortConfig(1, (server,), (host, server[1]), b"\6" * 6, b"\4" * 6)

    one, other = UdpPort(config("127.0.0.10")), UdpPort(config("127.0.0.11"))
    with pytest.raises(ConfigurationError, match=r"Switch port \d+ cannot listen at "):
        open_udp_ports([config("127.0.0.12"), config("127.0.0.11")])
    other.close()
    ports = open_udp_ports([config("127.0.0.12"), config("127.0.0.11")])
    for port in (one, other, *ports):
        port.close()
    with open_udp_socket(server), pytest.raises(ConfigurationError, match=r"Switch port \d+ cannot listen at "):
        UdpPort(config("127.0.0.10"))
    UdpPort(config("127.0.0.10")).close()


def test_host_sends_to_several_servers_through_one_port() -> None:
    """Replies have the address of their server; frames from another address are not delivered."""
    servers, host = (free_address("127.0.0.13"), free_address("127.0.0.14")), free_address("127.0.0.15")
    port = UdpPort(UdpPortConfig(1, servers, host, b"\6" * 6, b"\4" * 6))
    sockets = [open_udp_socket(host, peer=server, shared=True) for server in servers]

    def answer(source: tuple[str, int], payload: bytes) -> bytes:
        source_ip, host_ip = ipv4_int(source[0]), ipv4_int(host[0])
        return UdpFrame(b"\4" * 6, b"\6" * 6, source_ip, host_ip, source[1], host[1], payload).pack()

    for number, sock in enumerate(sockets):
        sock.send(b"to %d" % number)
    found = [UdpFrame.unpack(one) for one in wait_frames(port, 2)]
    assert {(one.payload, ipv4_text(one.destination_ip), one.destination_port) for one in found if one} == {
        (b"to %d" % number, *server) for number, server in enumerate(servers)
    }
    port.send(answer(("127.0.0.16", servers[0][1]), b"foreign"))
    port.send(answer(servers[1], b"from 1"))
    port.send(answer(servers[0], b"from 0"))
    assert port.undeliverable == 1
    small = answer(servers[0], b"")
    port.send(small[:38] + b"\xff\xff" + small[40:] + bytes(65_527))  # too long for a socket
    assert port.undeliverable == 2
    assert [sock.recv(100) for sock in sockets] == [b"from 0", b"from 1"]
    for closing in (port, *sockets):
        closing.close()
