# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packets to and from the controller (specification, section 16.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.p4runtime.matches import byte_count, decode, encode, mask
from lanesum_switch.p4runtime.p4info import P4InfoIndex, ParamInfo
from lanesum_switch.p4runtime.status import invalid


class _Header:
    """A controller header: its fields are packed from the first bit on and padded to whole bytes."""

    def __init__(self, fields: tuple[ParamInfo, ...]) -> None:
        self.fields = fields
        bits = sum(f.bits for f in fields)
        self.size = byte_count(bits)
        shift = 8 * self.size
        self.shifts: dict[int, tuple[int, int]] = {}  # metadata id -> shift, bits
        for f in fields:
            shift -= f.bits
            self.shifts[f.id] = (shift, f.bits)


class PacketIo:
    """Converts between stream messages and frames at the CPU port."""

    def __init__(self, index: P4InfoIndex) -> None:
        self._in = self._header(index, "packet_in")
        self._out = self._header(index, "packet_out")

    @staticmethod
    def _header(index: P4InfoIndex, name: str) -> _Header | None:
        fields = index.packet_headers.get(name)
        return None if fields is None else _Header(fields)

    def packet_in(self, frame: bytes) -> Any | None:
        """Return the stream message for a frame at the CPU port; None if it is shorter than the header."""
        response = p4rt.StreamMessageResponse()
        packet = response.packet
        packet.SetInParent()
        if self._in is None:
            packet.payload = frame
            return response
        if len(frame) < self._in.size:
            return None
        packet.payload = frame[self._in.size :]
        header = int.from_bytes(frame[: self._in.size], "big")
        for f in self._in.fields:
            shift, bits = self._in.shifts[f.id]
            packet.metadata.add(metadata_id=f.id, value=encode((header >> shift) & mask(bits)))
        return response

    def packet_out(self, packet: Any) -> bytes:
        """Return the frame to inject at the CPU port. Missing metadata fields are zero, as in PI.

        Raises StatusError: INVALID_ARGUMENT for metadata that the program does not have or that does not fit.
        """
        payload: bytes = packet.payload
        if self._out is None:
            if packet.metadata:
                raise invalid("The program has no packet_out header: send packets without metadata")
            return payload
        header = 0
        # The last of two values for one field counts.
        values = {metadata.metadata_id: metadata.value for metadata in packet.metadata}
        for metadata_id, value in values.items():
            if metadata_id not in self._out.shifts:
                raise invalid(f"The packet_out header has no field with id {metadata_id}, only {[*self._out.shifts]}")
            shift, bits = self._out.shifts[metadata_id]
            header |= decode(value, bits) << shift
        return header.to_bytes(self._out.size, "big") + payload


Inject = Callable[[int, bytes], object]
