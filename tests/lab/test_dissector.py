# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The Wireshark dissector says the same as ``Packet.unpack``, about whole, malformed and truncated packets."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from lanesum.protocol import UDP_PORT, VERSION, Header, Kind, LaneOp, Packet, PacketError
from lanesum.protocol.spec import GATHERED, HEADER, HEADER_BYTES, SCATTERED
from lanesum_lab.scapy_layer import LanesumPacket
from lanesum_switch.frames import UdpFrame, ipv4_int
from lanesum_switch.ports.capture import PcapWriter
from tests.paths import ROOT

DISSECTOR = ROOT / "wireshark" / "lanesum.lua"
PACKETS = 10_000
SEED = 20_261
FIELDS = [f"lanesum.{field.name}" for field in HEADER]
PROBLEMS = ["short", "length", "other_version", "unknown_kind", "unknown_op"]
ANSWERS = (Kind.RESULT, Kind.PENDING, Kind.CONFLICT)
# Rows of tshark: header fields, words, check words, whether the round is scattered or gathered, and problems.
Row = tuple[list[str], str, str, tuple[bool, ...], list[str]]


def random_frames(rng: np.random.Generator) -> list[bytes]:
    """Return frames with whole packets, and with packets that were cut, extended or damaged."""
    frames = []
    for _ in range(PACKETS):
        values = {f.name: int(rng.integers(0, 1 << f.bits)) for f in HEADER if f.name != "words"}
        values["version"] = VERSION
        if rng.random() < 0.8:
            values["kind"], values["op"] = int(rng.integers(1, 5)), int(rng.integers(0, len(LaneOp)))
        data = Packet(Header(**values), rng.integers(0, 1 << 32, int(rng.integers(0, 9)), np.uint32)).pack()
        change = rng.random()
        if change < 0.1:
            data = data[: int(rng.integers(0, len(data) + 1))]
        elif change < 0.2:
            data += rng.bytes(int(rng.integers(1, 9)))
        elif change < 0.4 and data:
            at = int(rng.integers(0, HEADER_BYTES))
            data = data[:at] + rng.bytes(1) + data[at + 1 :]
        ports = [(40000, UDP_PORT), (UDP_PORT, 40000), (UDP_PORT, UDP_PORT)][int(rng.integers(0, 3))]
        addresses = (ipv4_int("10.0.0.1"), ipv4_int("10.0.0.200"))
        frame = UdpFrame(bytes(6), bytes(6), *addresses, *ports, data).pack()
        if rng.random() < 0.05:
            frame = frame[: int(rng.integers(0, len(frame)))]
        frames.append(frame)
    return frames


def expected(frame: bytes) -> Row | None:
    """Return what the reference parser says about a frame; None for a frame without a lanesum packet."""
    datagram = UdpFrame.unpack(frame)
    if datagram is None:
        return None
    data = datagram.payload
    if not data:
        return None  # Wireshark calls no dissector for an empty datagram
    is_answer = len(data) >= HEADER_BYTES and data[0] >> 4 == VERSION and data[0] & 15 in ANSWERS
    if datagram.destination_port != UDP_PORT and not is_answer:
        return None
    try:
        header = Header.unpack(data)
    except PacketError:
        return [""] * len(FIELDS), "", "", (False, False), ["short"]
    if header.version != VERSION:
        return [str(header.version), *[""] * (len(FIELDS) - 1)], "", "", (False, False), ["other_version"]
    problems = ["unknown_kind"] * (header.kind not in list(Kind)) + ["unknown_op"] * (header.op not in list(LaneOp))
    words = checks = ""
    try:
        words = ",".join(f"{word:#010x}" for word in Packet.unpack(data).payload)
        checks = ",".join(f"{word:#010x}" for word in LanesumPacket(data).check_words)
    except PacketError:
        problems.append("length")
    values = [str(getattr(header, field.name)) for field in HEADER]
    marks = header.racks if header.kind == Kind.CONTRIBUTION else 0
    return values, words, checks, (bool(marks & SCATTERED), bool(marks & GATHERED)), sorted(problems)


def dissected(capture: Path) -> list[Row | None]:
    """Return what tshark says about the frames of a capture, in one call."""
    columns = [
        *FIELDS,
        "lanesum.word",
        "lanesum.check_word",
        "lanesum.scattered",
        "lanesum.gathered",
        *(f"lanesum.{name}" for name in PROBLEMS),
        "lanesum.truncated",
    ]
    columns.append("frame.protocols")
    command = ["tshark", "-n", "-r", str(capture), "-X", f"lua_script:{DISSECTOR}", "-T", "fields"]
    result = subprocess.run(
        [*command, *(part for column in columns for part in ("-e", column))], capture_output=True, text=True, check=True
    )
    rows: list[Row | None] = []
    for line in result.stdout.splitlines():
        cells = line.split("\t")
        words, checks, scattered, gathered, *problems, truncated, protocols = cells[len(FIELDS) :]
        if truncated or "lanesum" not in protocols.split(":"):
            rows.append(None)
            continue
        numbers = [str(int(cell, 0)) if cell else "" for cell in cells[: len(FIELDS)]]
        found = sorted(name for name, cell in zip(PROBLEMS, problems, strict=True) if cell)
        rows.append((numbers, words, checks, tuple(one in ("1", "True") for one in (scattered, gathered)), found))
    return rows


def test_dissector_agrees_with_reference_parser(tmp_path: Path) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed (apt-get install tshark)")
    frames = random_frames(np.random.default_rng(SEED))
    with PcapWriter(tmp_path / "packets.pcap") as writer:
        for number, frame in enumerate(frames):
            writer.write(frame, number)
    rows = dissected(tmp_path / "packets.pcap")
    assert len(rows) == PACKETS
    outcomes = Counter[str]()
    for number, (frame, row) in enumerate(zip(frames, rows, strict=True)):
        wanted = expected(frame)
        assert row == wanted, f"frame {number + 1} of seed {SEED}: {frame.hex()}"
        outcomes["none" if wanted is None else " ".join(wanted[-1]) or "whole"] += 1
    assert outcomes["whole"] > PACKETS / 3
    assert all(outcomes[name] > 20 for name in ("none", *PROBLEMS)), outcomes
