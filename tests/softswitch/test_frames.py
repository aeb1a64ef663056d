# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packing and unpacking of Ethernet frames with UDP over IPv4."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lanesum_switch.frames import UdpFrame, internet_checksum, ipv4_int, ipv4_text, mac_bytes

frames = st.builds(
    UdpFrame,
    source_mac=st.binary(min_size=6, max_size=6),
    destination_mac=st.binary(min_size=6, max_size=6),
    source_ip=st.integers(0, (1 << 32) - 1),
    destination_ip=st.integers(0, (1 << 32) - 1),
    source_port=st.integers(0, 0xFFFF),
    destination_port=st.integers(0, 0xFFFF),
    payload=st.binary(max_size=100),
    ttl=st.integers(0, 255),
)


@given(frame=frames, padding=st.binary(max_size=20))
def test_frame_pack_and_unpack_are_inverse(frame: UdpFrame, padding: bytes) -> None:
    data = frame.pack()
    assert internet_checksum(data[14:34]) == 0
    assert UdpFrame.unpack(data) == frame
    assert UdpFrame.unpack(data + padding) == frame, "Ethernet padding is cut off"


def test_unpack_frame_without_plain_udp_is_none() -> None:
    good = UdpFrame(bytes(6), bytes(6), 1, 2, 3, 4, b"data").pack()
    assert UdpFrame.unpack(good) is not None
    changes = {
        "type": (12, 0x86),
        "options": (14, 0x46),
        "fragment": (20, 0x20),
        "protocol": (23, 6),
        "length": (39, 9),
    }
    for what, (at, byte) in changes.items():
        assert UdpFrame.unpack(good[:at] + bytes([byte]) + good[at + 1 :]) is None, what
    for size in range(len(good)):
        assert UdpFrame.unpack(good[:size]) is None


def test_addresses_convert_from_text_and_back() -> None:
    assert ipv4_int("10.0.1.200") == 0x0A0001C8
    assert ipv4_text(0x0A0001C8) == "10.0.1.200"
    assert mac_bytes("02:00:00:00:ff:01") == b"\x02\0\0\0\xff\x01"
