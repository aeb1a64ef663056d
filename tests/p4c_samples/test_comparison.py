# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison of two switches: differences are found, and told from failures and old fields of the other one."""

from __future__ import annotations

import contextlib
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lanesum_fabric.program.pipelines import bmv2_pipeline
from lanesum_lab.targets.bmv2 import PROGRAM as BMV2
from lanesum_lab.veth import obstacle
from tests.p4c_samples import compare
from tests.p4c_samples.comparison import (
    MIN_FRAME_BYTES,
    PORTS,
    Comparison,
    Effort,
    Embedded,
    Pair,
    PeerFailedError,
    PortFrame,
    embedded,
    embedded_and_bmv2,
    is_unstable,
)
from tests.p4c_samples.compiled import CompiledProgram, samples_of
from tests.p4c_samples.random_packets import PacketGenerator

PROGRAMS = Path(__file__).parents[1] / "softswitch"
SHORT = Effort(rounds=2, updates=10, packets=20)

Alter = Callable[[int, list[PortFrame]], list[PortFrame]]


def program(name: str) -> CompiledProgram:
    folder = PROGRAMS / "p4runtime" / "programs"
    return CompiledProgram(name, (folder / f"{name}.json").read_bytes(), (folder / f"{name}.p4info.txtpb").read_text())


class Altered(Embedded):
    """Switch whose output is altered by the number of its packet, from 1."""

    def __init__(self, switch: Embedded, alter: Alter, ends_at: int | None = None) -> None:
        super().__init__(switch._switch, switch.client)
        self._alter, self._ends_at, self._number = alter, ends_at, 0

    def exchange(self, port: int, frame: bytes, expected: int = 0) -> list[PortFrame]:
        self._number += 1
        return self._alter(self._number, super().exchange(port, frame, expected))

    def ended(self) -> bool:
        return self._ends_at is not None and self._number >= self._ends_at


def with_peer(alter: Alter, ends_at: int | None = None) -> Callable[[], contextlib.AbstractContextManager[Pair]]:
    @contextlib.contextmanager
    def pair() -> Iterator[Pair]:
        with embedded() as ours, embedded() as theirs:
            yield ours, Altered(theirs, alter, ends_at)

    return pair


def unchanged(_number: int, frames: list[PortFrame]) -> list[PortFrame]:
    return frames


@pytest.mark.parametrize("seed", range(3))
def test_comparison_of_equal_switches_finds_nothing(seed: int) -> None:
    comparison = Comparison(program("everything"), seed, with_peer(unchanged), SHORT)
    assert (comparison.run(), comparison.stale) == ("", 0)


def test_comparison_finds_a_frame_more_at_a_port() -> None:
    found = Comparison(program("everything"), 0, with_peer(lambda _, frames: [*frames, (1, bytes(20))]), SHORT).run()
    assert found.startswith("packet ") and f"1: {bytes(20).hex()}" in found


def test_comparison_finds_another_order_at_a_port() -> None:
    ours = [(1, b"a"), (2, b"b"), (1, b"c")]

    def reordered(_number: int, frames: list[PortFrame]) -> list[PortFrame]:
        return [(1, b"c"), (2, b"b"), (1, b"a")]

    class Fixed(Embedded):
        def exchange(self, port: int, frame: bytes, expected: int = 0) -> list[PortFrame]:
            return ours

    @contextlib.contextmanager
    def pair() -> Iterator[Pair]:
        with with_peer(reordered)() as (one, other):
            assert isinstance(one, Embedded)
            yield Fixed(one._switch, one.client), other

    assert "packet " in Comparison(program("small"), 0, pair, SHORT).run()


def test_comparison_counts_packets_that_differ_by_earlier_ones() -> None:
    def alter(number: int, frames: list[PortFrame]) -> list[PortFrame]:
        return [*frames, (1, bytes(20))] if number > 1 else frames

    comparison = Comparison(program("small"), 0, with_peer(alter), SHORT)
    assert (comparison.run(), comparison.stale) == ("", SHORT.rounds * SHORT.packets - 1)


def test_comparison_raises_if_the_peer_has_ended() -> None:
    comparison = Comparison(program("small"), 0, with_peer(lambda _, frames: [(1, bytes(20))], ends_at=1), SHORT)
    with pytest.raises(PeerFailedError, match="it ended at the packet"):
        comparison.run()


def test_packets_follow_the_parser_of_the_program() -> None:
    generator = PacketGenerator((PROGRAMS / "programs" / "parsing.json").read_bytes(), random.Random(1))
    frames = [generator.frame() for _ in range(200)]
    assert min(map(len, frames)) >= MIN_FRAME_BYTES and len(set(frames)) > 150
    with embedded() as one:
        one._switch.load((PROGRAMS / "programs" / "parsing.json").read_bytes())
        sent = sum(bool(one._switch.process(PORTS[0], frame)) for frame in frames)
    assert sent > 50


def test_program_that_reads_the_time_is_unstable() -> None:
    pipeline = bmv2_pipeline(64)
    text = pipeline.p4info_path.read_text()
    assert is_unstable(CompiledProgram("lanesum", pipeline.json_path.read_bytes(), text))
    assert not is_unstable(program("small"))


def test_samples_without_packet_test_are_left_out(tmp_path: Path) -> None:
    for name, text in (("a", "v1model.p4"), ("b", "psa.p4"), ("c", "v1model.p4")):
        (tmp_path / f"{name}.p4").write_text(f'#include "{text}"\n')
    for name in "abd":
        (tmp_path / f"{name}.stf").touch()
    assert [one.name for one in samples_of(tmp_path)] == ["a.p4"]


@pytest.mark.parametrize(
    ("present", "arguments", "message"),
    [
        ({"p4c-bm2-ss"}, ["folder"], "simple_switch_grpc is not on PATH; docs/tools.md says where it comes from"),
        ({BMV2}, ["folder"], "p4c-bm2-ss is not on PATH"),
        (set(), ["--random", "1"], "simple_switch_grpc is not on PATH"),
        ({"p4c-bm2-ss", BMV2}, ["--smith", "1"], "p4smith is not on PATH"),
        ({"p4c-bm2-ss", BMV2}, [], "nothing to compare: give FOLDER, --random or --smith"),
    ],
)
def test_comparison_without_its_tools_says_why(
    present: set[str],
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: name if name in present else None)
    with pytest.raises(SystemExit):
        compare.main(arguments)
    assert message in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.skipif(shutil.which(BMV2) is None, reason=f"{BMV2} is not on PATH")
@pytest.mark.skipif(bool(obstacle()), reason=obstacle())
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["everything", "small"])
def test_embedded_switch_and_bmv2_are_alike(name: str, seed: int) -> None:
    comparison = Comparison(program(name), seed, embedded_and_bmv2)
    assert comparison.run() == ""
