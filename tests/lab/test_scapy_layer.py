# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The scapy layer says the same as ``Header`` and ``Packet``, and nothing of the runtime needs it."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from lanesum.protocol import Flag, Header, Kind, LaneOp, Packet
from lanesum.protocol.lanes import Combine
from lanesum.protocol.spec import HEADER, UDP_PORT
from lanesum.transport.round_sequence import RoundSequence
from lanesum_fabric.resources import checkout_root
from lanesum_lab.scapy_layer import LanesumPacket
from lanesum_switch.frames import UdpFrame, ipv4_int
from tests.host.transport.virtual_job import ticket

headers = st.builds(
    Header,
    **{field.name: st.integers(0, (1 << field.bits) - 1) for field in HEADER if field.name not in ("version", "words")},
)
payloads = st.lists(st.integers(0, (1 << 32) - 1), max_size=130)


@given(header=headers, payload=payloads)
def test_built_packets_are_those_of_the_library(header: Header, payload: list[int]) -> None:
    expected = Packet(header, np.array(payload, np.uint32)).pack()
    fields = {name: value for name, value in asdict(header).items() if name != "words"}
    built = LanesumPacket(**fields, payload_words=payload)
    assert bytes(built) == expected
    assert bytes(built)[:32] == header.pack()


@given(header=headers, payload=payloads)
def test_dissect_reads_what_build_wrote(header: Header, payload: list[int]) -> None:
    data = Packet(header, np.array(payload, np.uint32)).pack()
    dissected = LanesumPacket(data)
    for field in HEADER:
        assert int(getattr(dissected, field.name)) == getattr(header, field.name), field.name
    assert dissected.payload_words == payload
    assert bytes(dissected) == data
    dissected.clear_cache()
    assert bytes(dissected) == data, "from the fields, without the bytes that it was made of"


def test_fields_are_those_of_the_specification() -> None:
    layer = LanesumPacket.fields_desc
    assert [(field.name, field.sz * 8 if field.name == "words" else field.size) for field in layer[:-1]] == [
        (field.name, field.bits) for field in HEADER
    ]


def frame(source_port: int, destination_port: int, payload: bytes) -> bytes:
    addresses = (ipv4_int("10.0.0.1"), ipv4_int("10.0.0.200"))
    return UdpFrame(bytes(6), bytes(6), *addresses, source_port, destination_port, payload).pack()


@pytest.mark.parametrize(("source", "destination"), [(40000, UDP_PORT), (UDP_PORT, 40000), (UDP_PORT, UDP_PORT)])
def test_layer_is_chosen_by_the_udp_port(source: int, destination: int) -> None:
    """Contributions by their destination, answers by their source."""
    payload = Packet(Header(kind=Kind.RESULT, job=9, flags=Flag.RETRANSMISSION), np.arange(128, dtype=np.uint32)).pack()
    packet = Ether(frame(source, destination, payload))
    layer = packet[LanesumPacket]
    assert (layer.job, layer.payload_words[127]) == (9, 127)
    assert Raw not in packet


def test_other_ports_and_other_versions_stay_raw() -> None:
    payload = Packet(Header(), np.zeros(2, np.uint32)).pack()
    assert LanesumPacket not in Ether(frame(1, 2, payload))
    for data in (b"\x11" + payload[1:], payload[:31], b""):
        assert LanesumPacket not in Ether(frame(1, UDP_PORT, data))


def test_layer_builds_a_packet_by_hand() -> None:
    """Lengths, words and checksums are filled in; the summary names the chunk."""
    built = Ether() / IP() / UDP() / LanesumPacket(job=3, chunk=4, op=LaneOp.MAX, payload_words=[1, 2])
    packet = Ether(bytes(built))
    assert (packet[UDP].dport, packet[UDP].len) == (UDP_PORT, 48)
    assert packet[LanesumPacket].words == 2
    assert "CONTRIBUTION job 3 epoch 0 chunk 4 slot 0/0 MAX" in packet[LanesumPacket].mysummary()


@pytest.mark.parametrize("op", [op for op in LaneOp if not op.shape.lookup], ids=lambda op: op.name)
def test_check_words_of_certified_round_are_shown(op: LaneOp) -> None:
    """The packets of a worker end with check words, and those of a switch with sums of them."""
    own = ticket(accumulator_words=16, certified=True)
    rounds = RoundSequence(own)
    rounds.start(op, np.arange(1, 1 + op.shape.uplink_words_per_group, dtype=np.uint32))
    (datagram,) = rounds.due(0.0)
    packet = LanesumPacket(bytes(datagram))
    size = op.shape.uplink_words(own.data_words(op))
    is_sum = op.shape.combine is Combine.ADD
    assert packet.certified and packet.mysummary().endswith(", certified")
    assert packet.check_words == (packet.payload_words[size:] if is_sum else [])
    assert packet.check_words == [] or packet.check_words[0] != 0
    packet.flags, packet.payload_words = int(Flag.UPPER), list(range(16))
    assert len(packet.check_words) == op.shape.accumulator_words_per_group * is_sum
    packet.kind = Kind.RESULT
    assert not packet.certified and packet.check_words == []


@pytest.mark.parametrize("certified", [False, True])
def test_contribution_to_scattered_round_is_marked(certified: bool) -> None:
    rounds = RoundSequence(ticket(accumulator_words=16, certified=certified))
    rounds.start(LaneOp.ADD32, np.zeros(rounds.ticket.workers, np.uint32), scattered=True)
    packets = [LanesumPacket(bytes(datagram)) for datagram in rounds.due(0.0)]
    for packet in packets:
        assert packet.scattered and packet.certified is certified
        assert packet.mysummary().endswith(", certified, scattered" if certified else " words, scattered")
        packet.kind = Kind.RESULT
        assert not packet.scattered and packet.mysummary().endswith(" words")
    assert len(packets) == rounds.ticket.workers


def test_contribution_to_gathered_round_is_marked() -> None:
    rounds = RoundSequence(ticket(accumulator_words=16, certified=True))
    rounds.start(LaneOp.ADD32, np.ones(1, np.uint32), gathered=True)
    own, other = (LanesumPacket(bytes(datagram)) for datagram in rounds.due(0.0))
    assert own.mysummary().endswith(" 16 words, certified, gathered") and len(own.check_words) == 1
    assert other.mysummary().endswith(" 0 words, certified, gathered") and other.check_words == []
    other.kind = Kind.RESULT
    assert own.gathered and not other.gathered


def test_only_the_layer_imports_scapy() -> None:
    """scapy is GPL-2.0-only: only the tools import it."""
    root = checkout_root()
    assert root is not None
    folders = ("host", "fabric", "control_plane", "softswitch", "lab")
    modules = [path for folder in folders for path in (root / folder).rglob("*.py")]
    importers = set()
    for path in modules:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            if any(name.split(".")[0] == "scapy" or name.startswith("lanesum_lab.scapy") for name in names):
                importers.add(path.relative_to(root).as_posix())
    assert importers == {"lab/lanesum_lab/scapy_layer.py"}


def test_runtime_packages_load_no_scapy() -> None:
    """Not by way of its dependencies either."""
    program = (
        "import sys, lanesum.session, lanesum.server, lanesum.joining, lanesum_control.controller.controller, "
        "lanesum_control.switches.switch, lanesum_control.controller.service, lanesum_switch.dataplane, "
        "lanesum_switch.p4runtime\n"
        "assert 'lanesum_switch.dataplane' in sys.modules\n"
        "print([name for name in sys.modules if name.split('.')[0] == 'scapy'])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
