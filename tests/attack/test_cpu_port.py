# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tofino's program with Linux at the CPU port, which answers what the program redirects.

::

    w1, w2 -- s1: the program in the embedded switch -- os, with the switch's MAC address
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lanesum_control.switches.client import SwitchConnection
from lanesum_control.switches.switch import P4RuntimeSwitch
from lanesum_fabric.program.pipelines import tofino_pipeline
from lanesum_fabric.topology import Topology
from lanesum_lab.veth import inside, obstacle, switch_interface, wait_for_links
from lanesum_switch.frames import internet_checksum
from lanesum_switch.p4runtime import P4RuntimeServer
from lanesum_switch.ports.afpacket import AfPacketPort
from lanesum_switch.ports.runner import PortRunner
from lanesum_switch.tna.switch import TofinoSwitch

from .namespaces import INTERFACE, namespaces, within

pytestmark = pytest.mark.skipif(bool(obstacle()), reason=obstacle() or "namespaces can be made")

DEVICE_ID = 1
OWN_IP, UNKNOWN = "10.19.0.254", "192.0.2.1"
TIMEOUT_S = 120
# The last one: no limit of messages, which all namespaces of a machine share.
SETTINGS = {"ip_forward": "1", "conf/all/send_redirects": "0", "icmp_ratemask": "0"}
TOPOLOGY = Topology.model_validate(
    {
        "name": "rack",
        "nodes": {
            "s1": {"kind": "switch"},
            "w1": {"kind": "worker", "ip": "10.19.0.1"},
            "w2": {"kind": "worker", "ip": "10.19.0.2"},
            "server": {"kind": "server", "ip": "10.19.0.100"},
            "os": {"kind": "controller", "ip": OWN_IP, "mac": "02:00:00:00:ff:ff"},
        },
        "links": [
            {"endpoints": [f"s1:{port}", name]} for port, name in {1: "w1", 2: "w2", 3: "server", 64: "os"}.items()
        ],
    }
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, str], P4RuntimeSwitch]]:
    """Namespaces by node, and the running switch."""
    address = f"unix:{tmp_path_factory.mktemp('cpu')}/p4runtime"
    with contextlib.ExitStack() as cleanup:
        names = cleanup.enter_context(namespaces(TOPOLOGY))
        numbers = TOPOLOGY.ports()
        wait_for_links([switch_interface(port) for port in numbers.values()], names["s1"])
        for name in numbers:
            wait_for_links([INTERFACE], names[name])
        for setting, value in SETTINGS.items():
            path = Path("/proc/sys/net/ipv4", setting)
            within(names["os"], lambda path=path, value=value: path.write_text(value))
        subprocess.run(inside(names["w1"], ["ip", "route", "add", "default", "via", OWN_IP]), check=True)
        switch = TofinoSwitch()
        cleanup.enter_context(P4RuntimeServer(switch, address, DEVICE_ID))
        connection = cleanup.enter_context(SwitchConnection(address, device_id=DEVICE_ID))
        control = P4RuntimeSwitch.with_pipeline(connection, tofino_pipeline("tofino1-w32"))
        for host in TOPOLOGY.host_ports(loopback=False).values():
            control.add_host(host)
        ports = within(names["s1"], lambda: {port: AfPacketPort(switch_interface(port)) for port in numbers.values()})
        cleanup.enter_context(PortRunner(switch, ports))
        yield names, control


def _ping(destination: str, *, ttl: int = 64) -> tuple[str, int, int]:
    """Send an echo request; return source, type and code of the message that answers."""
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as sock:
        sock.settimeout(TIMEOUT_S)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
        request = bytearray(struct.pack(">BBHHH", 8, 0, 0, os.getpid() & 0xFFFF, 1) + bytes(56))
        request[2:4] = internet_checksum(bytes(request)).to_bytes(2, "big")
        sock.sendto(request, (destination, 0))
        answer, (source, _) = sock.recvfrom(2048)
        return source, answer[20], answer[21]


def _probe(destination: str, *, ttl: int = 64) -> tuple[str, int, int]:
    """Send a datagram as traceroute does; return source, type and code of the message about it."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as listener,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock,
    ):
        listener.settimeout(TIMEOUT_S)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
        sock.sendto(b"probe", (destination, 33434))
        answer, (source, _) = listener.recvfrom(2048)
        assert answer[28 + 16 : 28 + 20] == socket.inet_aton(destination), "the message quotes the datagram"
        return source, answer[20], answer[21]


def test_linux_at_cpu_port_answers_ping_and_traceroute(world: tuple[dict[str, str], P4RuntimeSwitch]) -> None:
    """Echo; time exceeded; network and port unreachable, for UDP and for ICMP."""
    names, control = world

    def talk() -> list[tuple[str, int, int]]:
        return [
            _ping(OWN_IP),
            _ping(OWN_IP, ttl=1),
            _probe("10.19.0.2", ttl=1),
            _ping("10.19.0.2", ttl=1),
            _probe(UNKNOWN),
            _probe(OWN_IP),
            _ping("10.19.0.2"),
        ]

    assert within(names["w1"], talk) == [
        (OWN_IP, 0, 0),
        (OWN_IP, 0, 0),
        (OWN_IP, 11, 0),
        (OWN_IP, 11, 0),
        (OWN_IP, 3, 0),
        (OWN_IP, 3, 3),
        ("10.19.0.2", 0, 0),
    ]
    counts = control.decisions()
    assert {name: counts[name] for name in ("redirect_expired", "redirect_no_route", "redirected")} == {
        "redirect_expired": 3,
        "redirect_no_route": 1,
        "redirected": 4,
    }
