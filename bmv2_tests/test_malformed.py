# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Malformed and other packets are dropped and counted, or routed; they change no register.

Worker 0 has contributed, and worker 1 sends something malformed in its place. In the end its real contribution must
complete the exact sum.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lanesum.protocol import Kind, LaneOp
from lanesum.protocol.spec import VERSION
from lanesum_switch.frames import internet_checksum

from .oracle import Words, aggregate
from .star import SERVER, Job, Place, Star, routed
from .target import Target

IPV4, UDP, LANESUM = 14, 34, 42  # offsets of the headers


def patched(frame: bytes, at: int, new: bytes, *, fix_checksum: bool = True) -> bytes:
    """Return ``frame`` with other bytes at ``at`` and a right IPv4 checksum (of the header without options)."""
    data = bytearray(frame)
    data[at : at + len(new)] = new
    if fix_checksum:
        data[IPV4 + 10 : IPV4 + 12] = bytes(2)
        struct.pack_into(">H", data, IPV4 + 10, internet_checksum(bytes(data[IPV4:UDP])))
    return bytes(data)


class Scene:
    """A job of two workers with worker 0's contribution in its slot."""

    def __init__(self, star: Star, op: LaneOp = LaneOp.ADD32) -> None:
        self.star = star
        self.place = Place(op=op)
        self.job: Job = star.admit(2)
        self.words: list[Words] = self.job.words(1, op)
        assert star.contribute(self.job, 0, self.words[0], self.place) == []
        self.port, self.frame = self.job.contribution(1, self.words[1], self.place)

    def is_intact(self) -> bool:
        total = aggregate(self.place.op, self.words)
        return self.star.exchange(self.port, self.frame) == self.job.result(total, self.place)


@pytest.fixture
def scene(star: Star) -> Iterator[Scene]:
    """Check at the end of every test that the sum is exact."""
    scene = Scene(star)
    yield scene
    assert scene.is_intact()


@pytest.mark.offered("one_pass")
@pytest.mark.parametrize("op", [LaneOp.ADD32, LaneOp.EXPAND8], ids=lambda op: op.name)
def test_truncated_contribution_is_dropped(star: Star, op: LaneOp) -> None:
    scene = Scene(star, op)
    lengths = range(star.target.min_frame_bytes, len(scene.frame) - star.target.trailer_bytes)
    for length in lengths:
        assert star.exchange(scene.port, scene.frame[:length]) == []
    assert star.decisions()["drop_malformed"] == len(lengths)
    assert scene.is_intact()


@pytest.mark.offered("one_pass")
@pytest.mark.parametrize(
    ("at", "new", "end", "decision"),
    [
        (0, bytes.fromhex("0200000086ff"), None, "drop_misdirected"),
        (LANESUM, bytes([1 << 4 | Kind.CONTRIBUTION]), LANESUM + 32, "route"),
    ],
    ids=["payload to another station", "header of another version"],
)
def test_frame_check_after_truncation_counts_as_frame_bytes(
    scene: Scene, at: int, new: bytes, end: int | None, decision: str
) -> None:
    """A frame without the last four bytes of a header or its payload looks complete where the frame check is parsed.

    Other targets get four bytes more in its place. With one byte less it is malformed, which is counted first.
    """
    star = scene.star
    cut = patched(scene.frame, at, new)[:end][:-4]
    left = star.deliver(scene.port, cut + bytes(4 - star.target.trailer_bytes))
    assert [port for port, _ in left] == [port for port, _ in star.twin.process(scene.port, cut + bytes(4))]
    assert star.decisions()[decision] == 1
    assert star.exchange(scene.port, cut[:-1]) == []
    assert star.decisions()["drop_malformed"] == 1


@pytest.mark.parametrize("words", [0, 1, 63, 65, 32, 64, 128, 0x3FFF, 0x4000, 0x4020, 0x4040, 0xFFFF])
def test_words_field_that_contradicts_the_length_is_dropped(scene: Scene, words: int) -> None:
    """0x4040 words look like 64 words if lengths are computed in 16 bits."""
    if words == scene.star.accumulator_words:
        words -= 4
    frame = patched(scene.frame, LANESUM + 30, words.to_bytes(2, "big"))
    assert scene.star.exchange(scene.port, frame) == []
    assert scene.star.decisions()["drop_malformed"] == 1


@pytest.mark.parametrize("words", [16369, 16374, 0x3FFF, 0x4000, 0xFFFF])
def test_words_field_whose_length_overflows_is_dropped(scene: Scene, words: int) -> None:
    """The lengths agree only because 16 bits overflow: no such datagram exists."""
    udp_length = (40 + 4 * words) % (1 << 16)
    frame = patched(scene.frame, LANESUM + 30, words.to_bytes(2, "big"))
    frame = patched(frame, UDP + 4, udp_length.to_bytes(2, "big"))
    frame = patched(frame, IPV4 + 2, ((udp_length + 20) % (1 << 16)).to_bytes(2, "big"))
    assert scene.star.exchange(scene.port, frame) == []
    assert scene.star.decisions()["drop_malformed"] == 1


@pytest.mark.parametrize("difference", [-40, -4, -1, 1, 4, 1000])
def test_wrong_udp_length_is_dropped(scene: Scene, difference: int) -> None:
    length = len(scene.frame) - UDP + difference
    frame = patched(scene.frame, UDP + 4, length.to_bytes(2, "big"))
    assert scene.star.exchange(scene.port, frame) == []
    assert scene.star.decisions()["drop_malformed"] == 1


@pytest.mark.parametrize("difference", [-20, -3, -1, 1, 5, 1000])
def test_wrong_ipv4_length_is_dropped(scene: Scene, difference: int) -> None:
    length = len(scene.frame) - IPV4 + difference
    frame = patched(scene.frame, IPV4 + 2, length.to_bytes(2, "big"))
    assert scene.star.exchange(scene.port, frame) == []
    assert scene.star.decisions()["drop_malformed"] == 1


@pytest.mark.parametrize("bit", [0, 7, 8, 15])
def test_wrong_ipv4_checksum_is_dropped(scene: Scene, bit: int) -> None:
    (checksum,) = struct.unpack_from(">H", scene.frame, IPV4 + 10)
    frame = patched(scene.frame, IPV4 + 10, (checksum ^ 1 << bit).to_bytes(2, "big"), fix_checksum=False)
    assert scene.star.exchange(scene.port, frame) == []
    assert scene.star.decisions()["drop_corrupt"] == 1


@pytest.mark.parametrize("kind", [0, 5, 9, 15])
def test_unknown_kind_is_dropped(scene: Scene, kind: int) -> None:
    frame = patched(scene.frame, LANESUM, bytes([VERSION << 4 | kind]))
    assert scene.star.exchange(scene.port, frame) == []
    assert scene.star.decisions()["drop_malformed"] == 1


@pytest.mark.parametrize("version", [0, 1, 15])
def test_other_protocol_versions_are_routed(scene: Scene, version: int) -> None:
    """A newer server may support them: routed, whatever their lengths."""
    for words in (scene.frame[LANESUM + 30 : LANESUM + 32], b"\xff\xff"):
        frame = patched(scene.frame, LANESUM, bytes([version << 4 | Kind.CONTRIBUTION]))
        frame = patched(frame, LANESUM + 30, words)
        assert scene.star.exchange(scene.port, frame) == routed(frame, SERVER)
    assert scene.star.decisions()["route"] == 2


@pytest.mark.parametrize("kind", [Kind.RESULT, Kind.PENDING, Kind.CONFLICT], ids=lambda kind: kind.name)
def test_answers_are_routed(scene: Scene, kind: Kind) -> None:
    """Answers of the server or of another switch; one that a worker sends reaches no slot either."""
    frame = patched(scene.frame, LANESUM, bytes([VERSION << 4 | kind]))
    assert scene.star.exchange(scene.port, frame) == routed(frame, SERVER)
    assert scene.star.decisions()["route"] == 1


@pytest.mark.parametrize("op", [len(LaneOp), len(LaneOp) + 1, 64, 255])
def test_unknown_operation_is_routed(scene: Scene, op: int) -> None:
    """The server may support it."""
    frame = patched(scene.frame, LANESUM + 18, bytes([op]))
    assert scene.star.exchange(scene.port, frame) == routed(frame, SERVER)
    assert scene.star.decisions()["route_other_size"] == 1


@pytest.mark.parametrize("words", [0, 16, 32, 63, 64, 65, 128])
def test_contributions_of_another_size_are_routed(scene: Scene, words: int) -> None:
    """They are well formed, but only the server sums them."""
    if words == scene.star.accumulator_words:
        words -= 4
    port, frame = scene.job.contribution(1, np.resize(scene.job.words(2)[1], words))
    assert scene.star.exchange(port, frame) == routed(frame, SERVER)
    assert scene.star.decisions()["route_other_size"] == 1


def test_expand8_of_accumulator_size_is_routed(scene: Scene) -> None:
    """EXPAND8 with 64 uplink words would make 128 accumulator words."""
    port, frame = scene.job.contribution(1, scene.words[1], Place(op=LaneOp.EXPAND8))
    assert scene.star.exchange(port, frame) == routed(frame, SERVER)


@pytest.mark.parametrize("field", [0x2000, 0x0001, 0x2001, 0x1FFF], ids=hex)
def test_fragments_are_routed(scene: Scene, field: int) -> None:
    frame = patched(scene.frame, IPV4 + 6, field.to_bytes(2, "big"))
    (hop,) = scene.star.exchange(scene.port, frame)
    assert hop[0] == SERVER.port
    assert hop[1][UDP:] == frame[UDP:]
    assert internet_checksum(hop[1][IPV4:UDP]) == 0
    assert scene.star.decisions()["route"] == 1


@pytest.mark.parametrize("option_words", [1, 3, 10])
def test_ipv4_options_are_routed(scene: Scene, option_words: int) -> None:
    """A contribution behind options is not parsed; its header's checksum is updated."""
    header = bytearray(scene.frame[IPV4:UDP] + b"\x01" * (4 * option_words))
    header[0] = 0x40 | (5 + option_words)
    struct.pack_into(">H", header, 2, len(scene.frame) - IPV4 + 4 * option_words)
    struct.pack_into(">H", header, 10, 0)
    struct.pack_into(">H", header, 10, internet_checksum(bytes(header)))
    frame = scene.frame[:IPV4] + bytes(header) + scene.frame[UDP:]
    (hop,) = scene.star.exchange(scene.port, frame)
    assert hop[0] == SERVER.port
    assert hop[1][UDP:] == frame[UDP:]
    assert internet_checksum(hop[1][IPV4 : IPV4 + len(header)]) == 0
    assert hop[1][IPV4 + 8] == frame[IPV4 + 8] - 1


def test_options_that_look_like_udp_are_routed(scene: Scene) -> None:
    """A contribution whose IPv4 header claims to be 60 bytes long: the rest of it is options."""
    header = bytearray(scene.frame[IPV4 : IPV4 + 60])
    header[0], header[10:12] = 0x4F, bytes(2)
    header[10:12] = internet_checksum(bytes(header)).to_bytes(2, "big")
    frame = scene.frame[:IPV4] + bytes(header) + scene.frame[IPV4 + 60 :]
    (hop,) = scene.star.exchange(scene.port, frame)
    assert hop[0] == SERVER.port
    assert hop[1][UDP:] == frame[UDP:]
    assert scene.star.decisions()["route"] == 1


@pytest.mark.parametrize("first_byte", [0x40, 0x44, 0x05, 0x35, 0x55, 0x65, 0xF5], ids=hex)
def test_bad_ipv4_header_is_dropped(scene: Scene, first_byte: int) -> None:
    """Another IP version, or a header shorter than the minimum."""
    frame = patched(scene.frame, IPV4, bytes([first_byte]))
    assert scene.star.exchange(scene.port, frame) == []
    assert scene.star.decisions()["drop_malformed"] == 1


@pytest.mark.parametrize("ether_type", [0x86DD, 0x88CC, 0x0000, 0x05DC, 0xFFFF], ids=hex)
def test_other_ether_types_are_dropped(scene: Scene, ether_type: int) -> None:
    frame = patched(scene.frame, 12, ether_type.to_bytes(2, "big"), fix_checksum=False)
    assert scene.star.exchange(scene.port, frame) == []
    assert scene.star.decisions()["drop_unknown"] == 1


def test_another_udp_port_is_routed(scene: Scene) -> None:
    for port in (19538, 19540, 0x534C):
        frame = patched(scene.frame, UDP + 2, port.to_bytes(2, "big"))
        assert scene.star.exchange(scene.port, frame) == routed(frame, SERVER)


def test_ethernet_padding_is_not_summed(star: Star) -> None:
    """Bytes behind the datagram stay behind the result, where hosts ignore them."""
    scene = Scene(star)
    total = aggregate(LaneOp.ADD32, scene.words)
    copies = star.exchange(scene.port, scene.frame + b"padding")
    assert copies == [(port, frame + b"padding") for port, frame in scene.job.result(total)]


def mutations(size: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    """(position, byte) pairs, mostly in the headers, which determine the decision."""
    position = st.one_of(st.integers(0, LANESUM + 31), st.integers(0, size - 1))
    return st.lists(st.tuples(position, st.integers(0, 255)), min_size=1, max_size=4)


def truncations(target: Target, size: int) -> st.SearchStrategy[int]:
    """Lengths of a truncated frame, without those at which the frame check completes the lanesum header or payload."""
    completed = [range(end - target.trailer_bytes, end) for end in (LANESUM + 32, size)]
    lengths = range(target.min_frame_bytes, size + 1)
    return st.sampled_from([length for length in lengths if not any(length in span for span in completed)])


@pytest.mark.long
@pytest.mark.offered("one_pass")
def test_random_corruption_gives_the_frames_of_the_reference(star: Star) -> None:
    """Any header bytes, right and wrong checksums (``Star.exchange`` compares the frames)."""

    @settings(max_examples=8 * star.target.num_schedules, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(data=st.data(), op=st.sampled_from(star.target.ops), fix_checksum=st.booleans())
    def check(data: st.DataObject, op: LaneOp, fix_checksum: bool) -> None:
        scene = Scene(star, op)
        frame = bytearray(scene.frame)
        for position, byte in data.draw(mutations(len(frame))):
            frame[position] = byte
        corrupted = patched(bytes(frame), 0, b"", fix_checksum=fix_checksum)
        star.exchange(scene.port, corrupted[: data.draw(truncations(star.target, len(corrupted)))])
        star.exchange(scene.port, corrupted)
        # The corrupted packet may have counted as a contribution or not: both switches agree on the slot's state.
        star.exchange(scene.port, scene.frame)
        star.clean_up()

    check()
    assert star.decisions()["aggregate"] >= star.target.num_schedules
