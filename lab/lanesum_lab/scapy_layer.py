# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""lanesum packets in scapy: read a capture, or build a packet by hand.

Importing the module binds the layer to the UDP port::

    from lanesum_lab.scapy_layer import LanesumPacket
    from scapy.all import rdpcap
    for packet in rdpcap("switch.pcap"):
        if LanesumPacket in packet:
            print(packet.time, packet[LanesumPacket].summary())

The fields are made from ``lanesum.protocol.spec`` when this module is imported.
"""

from __future__ import annotations

from typing import Any, ClassVar

from lanesum.errors import MissingToolError
from lanesum.protocol.lanes import Combine, LaneOp
from lanesum.protocol.spec import (
    CERTIFIED,
    GATHERED,
    HEADER,
    HEADER_BYTES,
    SCATTERED,
    UDP_PORT,
    VERSION,
    Flag,
    HeaderField,
    Kind,
)

try:
    from scapy.config import conf
    from scapy.fields import BitEnumField, BitField, FieldLenField, FieldListField, FlagsField, XBitField, XIntField
    from scapy.layers.inet import UDP
    from scapy.packet import Packet, bind_bottom_up, bind_layers
except ImportError as error:
    raise MissingToolError("scapy is not installed.", "pip install 'lanesum-lab[tools]'") from error

# scapy cuts lists off at 100 items unless told otherwise; the protocol's own limit is the datagram's.
_MAX_WORDS = (0xFFFF - 20 - 8 - HEADER_BYTES) // 4

_IN_HEX = ("tag", "workers", "racks")


def _scapy_field(field: HeaderField) -> Any:
    """Return the scapy field of a header field."""
    if field.name == "words":
        # Filled in from the payload when left out.
        return FieldLenField(field.name, None, count_of="payload_words", fmt="H")
    if field.name == "kind":
        return BitEnumField(field.name, Kind.CONTRIBUTION, field.bits, {kind.value: kind.name for kind in Kind})
    if field.name == "op":
        return BitEnumField(field.name, LaneOp.ADD32, field.bits, {op.value: op.name for op in LaneOp})
    if field.name == "flags":
        return FlagsField(field.name, 0, field.bits, {flag.value: flag.name for flag in Flag})
    default = VERSION if field.name == "version" else 0
    return (XBitField if field.name in _IN_HEX else BitField)(field.name, default, field.bits)


def _mark(bit: int) -> property:
    """Return a property: True for a contribution to a round with a mark. Answers do not say whether theirs has it."""
    return property(lambda packet: bool(packet.kind == Kind.CONTRIBUTION and packet.racks & bit))


class LanesumPacket(Packet):  # type: ignore[misc]  # scapy has no types
    """A contribution, result or pending answer. ``payload_words`` is a list of integers."""

    name = "lanesum"
    fields_desc: ClassVar = [
        *(_scapy_field(field) for field in HEADER),
        FieldListField(
            "payload_words",
            [],
            XIntField("word", 0),
            count_from=lambda packet: packet.words,
            max_count=_MAX_WORDS,
        ),
    ]

    @classmethod
    def dispatch_hook(cls, data: bytes | None = None, *_args: Any, **_kwargs: Any) -> Any:
        """Keep other versions and truncated headers as raw bytes."""
        if data is not None and (len(data) < HEADER_BYTES or data[0] >> 4 != VERSION):
            return conf.raw_layer
        return cls

    certified = _mark(CERTIFIED)
    scattered = _mark(SCATTERED)
    gathered = _mark(GATHERED)

    @property
    def check_words(self) -> list[int]:
        """Check words of a contribution to a certified sum: the last group of words.

        The list is empty for OR and MAX, whose check words depend on the number of workers.
        """
        if not self.certified or self.op not in set(LaneOp):
            return []
        shape = LaneOp(self.op).shape
        is_aggregate = self.flags & Flag.UPPER
        count = shape.accumulator_words_per_group if is_aggregate else shape.uplink_words_per_group
        return list(self.payload_words[-count:]) if shape.combine is Combine.ADD and not shape.lookup else []

    def mysummary(self) -> str:
        """Return one line that identifies the chunk."""
        text = self.sprintf(
            "lanesum %kind% job %job% epoch %epoch% chunk %chunk% slot %slot%/%shadow% %op% "
            "workers %workers% [%flags%] %words% words"
        )
        marks = (name for name in ("certified", "scattered", "gathered") if getattr(self, name))
        return ", ".join((text, *marks))


bind_layers(UDP, LanesumPacket, dport=UDP_PORT)
# Answers come from the port; the worker's own may be another.
bind_bottom_up(UDP, LanesumPacket, sport=UDP_PORT)
