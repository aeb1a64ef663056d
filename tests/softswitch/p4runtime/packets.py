# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packets for the ``everything`` program: requests in packet-outs, answers in packet-ins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt

ECHO, MULTICAST, CLONE, DIGEST, COUNT = range(5)
BODY = b"a payload of forty bytes, of which none."


def request(op: int, arg: int = 0, key: int = 0, odd: int = 0, nibble: int = 0, address: int = 0) -> bytes:
    head = bytes([op, arg]) + key.to_bytes(2, "big") + (odd << 4 | nibble).to_bytes(2, "big")
    return head + address.to_bytes(4, "big") + bytes(16) + BODY


def packet_out(payload: bytes, tag: bytes | None = b"\x0a\xbc", **metadata: bytes) -> Any:
    packet = p4rt.PacketOut(payload=payload)
    if tag is not None:
        packet.metadata.add(metadata_id=3, value=tag)
    return packet


@dataclass(frozen=True)
class Answer:
    """A packet-in: its metadata (ingress port, replication id, tag) and payload."""

    port: bytes
    rid: bytes
    tag: bytes
    payload: bytes


def answer(message: Any) -> Answer:
    assert message.WhichOneof("update") == "packet", message
    metadata = {m.metadata_id: m.value for m in message.packet.metadata}
    assert list(metadata) == [1, 2, 3, 4]
    assert metadata[4] == b"\0"
    return Answer(metadata[1], metadata[2], metadata[3], message.packet.payload)
