# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Captures: the choice of packets, the file, and ports that are captured."""

from __future__ import annotations

import socket
import struct
import time
from pathlib import Path

import numpy as np
import pytest

from lanesum.errors import ConfigurationError, MissingToolError
from lanesum.protocol import UDP_PORT, Flag, Header, Kind, LaneOp, Packet
from lanesum_switch.cli.capture import job_number
from lanesum_switch.frames import UdpFrame, ipv4_int
from lanesum_switch.ports.capture import CapturedPort, InterfaceCapture, PacketSelection, PcapWriter, split, summary
from lanesum_switch.ports.port import MemoryPort
from tests.command_line import invoke

TAG = bytes.fromhex("81000005")


def payload(job: int, words: int = 4) -> bytes:
    header = Header(kind=Kind.RESULT, flags=Flag.ECN | Flag.BYPASS, job=job, op=LaneOp.MAX, workers=0b101)
    return Packet(header, np.arange(words, dtype=np.uint32)).pack()


def frame(data: bytes, port: int = UDP_PORT) -> bytes:
    return UdpFrame(bytes(6), bytes(6), ipv4_int("10.0.0.1"), ipv4_int("10.0.0.200"), 40000, port, data).pack()


def tagged(data: bytes) -> bytes:
    return data[:12] + TAG + data[12:]


def records(path: Path) -> list[tuple[int, bytes]]:
    """Return times and frames of a capture file."""
    data = path.read_bytes()
    assert struct.unpack_from("<IHH8xII", data) == (0xA1B23C4D, 2, 4, 1 << 18, 1)
    found, at = [], 24
    while at < len(data):
        seconds, nanoseconds, size, whole = struct.unpack_from("<IIII", data, at)
        assert size == whole
        found.append((seconds * 10**9 + nanoseconds, data[at + 16 : at + 16 + size]))
        at += 16 + size
    return found


def test_selection_by_port_and_job() -> None:
    mine, other = frame(payload(3)), frame(payload(4))
    assert PacketSelection().packets(mine) == [mine]
    assert PacketSelection(job=3).packets(mine) == [mine]
    assert PacketSelection(job=3).packets(other) == []
    assert PacketSelection(ports=(5,)).packets(mine) == []
    assert PacketSelection(ports=(40000,)).packets(mine) == [mine]
    assert PacketSelection(ports=(5, 6)).packets(frame(payload(3), 6)) == [frame(payload(3), 6)]


def test_selection_keeps_malformed_datagrams_without_a_job() -> None:
    for data in (b"", b"\x21", payload(3)[:-1], b"\x10" + payload(3)[1:]):
        assert PacketSelection().packets(frame(data)) == [frame(data)]
    assert PacketSelection(job=3).packets(frame(b"\x21")) == []
    assert PacketSelection().packets(b"\x00" * 60) == []


def test_selection_splits_joined_datagrams() -> None:
    """Each packet is a frame of its own, with the VLAN tag of the joined one."""
    joined = payload(3) + payload(4) + payload(3, 2)
    assert split(joined) == [payload(3), payload(4), payload(3, 2)]
    assert split(joined[:-1]) == [joined[:-1]]
    assert PacketSelection().packets(frame(joined)) == [frame(one) for one in split(joined)]
    assert PacketSelection(job=4).packets(tagged(frame(joined))) == [tagged(frame(payload(4)))]


def test_summary_names_the_chunk() -> None:
    text = "RESULT job 3 epoch 0 chunk 0 slot 0/0 MAX workers 0,2 [ECN BYPASS] 4 words"
    assert summary(frame(payload(3))) == summary(tagged(frame(payload(3)))) == text
    assert summary(frame(b"\x21")) == "Packet of 1 bytes is shorter than the 32-byte header."
    assert summary(frame(b"\x10" + payload(3)[1:])) == "Protocol version 1"


def test_writer_keeps_times_and_bound(tmp_path: Path) -> None:
    with PcapWriter(tmp_path / "x.pcap", max_frames=2) as writer:
        for number in range(3):
            writer.write(bytes([number]) * 60, 10**18 + number)
    assert records(tmp_path / "x.pcap") == [(10**18 + number, bytes([number]) * 60) for number in range(2)]
    writer.close()
    writer.write(b"late")


def test_writer_unwritable_file_raises(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"Cannot write .*: it is a folder\."):
        PcapWriter(tmp_path)


def test_captured_port_writes_both_directions(tmp_path: Path) -> None:
    memory = MemoryPort()
    port = CapturedPort(memory, PcapWriter(tmp_path / "x.pcap"))
    memory.put(b"in" * 30)
    assert port.receive_batch() == [b"in" * 30]
    port.send(b"out" * 20)
    assert (port.fileno(), port.backlog()) == (memory.fileno(), 0)
    port.close()
    assert [data for _, data in records(tmp_path / "x.pcap")] == [b"in" * 30, b"out" * 20]


def test_captured_port_full_disk_carries_frames_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    memory, writer = MemoryPort(), PcapWriter(tmp_path / "x.pcap")
    port = CapturedPort(memory, writer)
    with Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr(writer, "_file", full)
        port.send(b"one" * 20)
        port.send(b"two" * 20)
        assert memory.wait_sent(2) == [b"one" * 20, b"two" * 20]
        port.close()
    assert [record.message for record in caplog.records] == [
        f"Cannot write the capture file {tmp_path / 'x.pcap'}: No space left on device. The capture ends."
    ]


def test_capture_on_loopback_shows_each_packet_once(tmp_path: Path) -> None:
    try:
        source = InterfaceCapture("lo")
    except MissingToolError as error:
        pytest.skip(f"a live capture needs root: {error}")
    receiver, sender = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    with source, receiver, sender:
        receiver.bind(("127.0.0.1", 0))
        chosen = PacketSelection(ports=(receiver.getsockname()[1],), job=7)
        wanted, packets, rounds = {payload(7), payload(7, 2)}, [], 0
        while not wanted <= {one for one, _ in packets}:  # other traffic of this machine may fill the buffer
            rounds += 1
            for data in (payload(7), payload(8), payload(7, 2)):
                sender.sendto(data, receiver.getsockname())
            for found, time_ns in source.frames(until=time.monotonic() + 0.2):
                for one in chosen.packets(found):
                    datagram = UdpFrame.unpack(one)
                    assert datagram is not None
                    packets.append((datagram.payload, time_ns))
        assert {one for one, _ in packets} == wanted
        assert len(packets) <= 2 * rounds
        assert all(time_ns > 0 for _, time_ns in packets)
        assert list(source.frames(until=0)) == []
        assert source.lost() >= 0


def test_capture_without_privilege_names_the_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> socket.socket:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("lanesum_switch.ports.capture.raw_socket", refuse)
    result = invoke(["capture", "lo"])
    assert result.exit_code == MissingToolError.exit_code
    assert "Cannot open a raw socket at lo: the capability CAP_NET_RAW is missing." in result.output
    assert "lanesum switch --loopback --capture" in result.output


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--seconds", "0", "Invalid --seconds 0: expected more than 0, at most 1e+06. For example --seconds 10."),
        ("--seconds", "nan", "Invalid --seconds nan"),
        ("--seconds", "1e9", "Invalid --seconds 1e+09"),
        ("--port", "65536", "Invalid value for '--port'"),
    ],
)
def test_capture_without_end_or_port_is_refused(option: str, value: str, says: str) -> None:
    result = invoke(["capture", "no-interface", option, value])
    assert result.exit_code == ConfigurationError.exit_code
    assert says in result.output


@pytest.mark.parametrize(
    ("capture", "says"),
    [
        ("1", "Invalid --capture '1': expected port@name. For example --capture 1@s1-1.pcap."),
        ("x@y", "Invalid --capture 'x@y'"),
        ("9@x.pcap", "Switch s1 has no port 9 to capture at. Its ports: 1, 5."),
    ],
)
def test_switch_capture_of_unknown_port_is_refused(capture: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ports = {1: MemoryPort(), 5: MemoryPort()}
    monkeypatch.setattr("lanesum_switch.ports.topology.loopback_ports", lambda *_: ports)
    result = invoke(["switch", "--loopback", "--capture", capture])
    assert result.exit_code == ConfigurationError.exit_code
    assert says in result.output


def test_capture_job_of_the_controller_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanesum.rpc.controller.call", lambda *_, **__: {"jobs": [{"name": "train", "job": 5}]})
    assert job_number("train", "c:1") == 5
    assert job_number("7", "c:1") == 7
    with pytest.raises(ConfigurationError, match=r"The controller at c:1 has no job 'other'\. Its jobs: train\."):
        job_number("other", "c:1")
    with pytest.raises(ConfigurationError, match="Invalid --job 65536: numbers of jobs are less than 65536"):
        job_number("65536", "c:1")
