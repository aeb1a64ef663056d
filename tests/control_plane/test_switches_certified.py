# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Certified sums of the BMv2 program in the embedded switch, whose registers and packets get wrong bits."""

from __future__ import annotations

import collections
import random
from collections.abc import Iterable, Iterator

import pytest

from lanesum.protocol.spec import HEADER_BYTES
from lanesum_control.controller.controller import AdmissionError, JobRequest
from lanesum_control.controller.monitor import Monitor
from lanesum_control.controller.service import ControllerService
from lanesum_fabric.program.pipelines import bmv2_pipeline
from lanesum_switch.api import PacketOut
from lanesum_switch.dataplane import EmbeddedSwitch
from tests.control_plane.sites import HOSTS, Site, assert_exact, running
from tests.waiting import wait_until

PAYLOAD = 14 + 20 + 8 + HEADER_BYTES
CHECKSUM = slice(40, 42)
SLOTS = 8


class FlippingSwitch(EmbeddedSwitch):
    """A switch in which bits flip.

    Attributes:
        share: share of packets beside which a bit flips; half of the bits flip in registers, half in results.
        flips: flipped bits, by their place.
        bits: lowest bits of words, in which the flips are. Several flips of high bits in a packet of ADD32 may cancel
            (docs/certified-sums.md).
    """

    def __init__(self) -> None:
        super().__init__()
        self.share = 0.0
        self.bits = 32
        self.flips: collections.Counter[str] = collections.Counter()
        self._bits = random.Random(1)

    def process_batch(self, packets: Iterable[tuple[int, bytes]]) -> list[PacketOut]:
        made: list[PacketOut] = []
        for port, frame in packets:
            if self._bits.random() < self.share / 2:
                self._flip_register()
            made += [self._flipped(one) for one in super().process_batch([(port, frame)])]
        return made

    def _flip_register(self) -> None:
        """Flip a bit of an accumulator word of a used slot."""
        names = [name for name in self._runtime.registers if "words_" in name]
        used = range(2 * SLOTS)
        name = self._bits.choice(names)
        cells = [index for index in used if self.read_register(name, index)]
        if cells:
            index = self._bits.choice(cells)
            self.write_register(name, index, self.read_register(name, index) ^ 1 << self._bits.randrange(self.bits))
            self.flips["registers"] += 1

    def _flipped(self, out: PacketOut) -> PacketOut:
        """Flip a bit of a result's words, as a memory behind the checksum would."""
        frame = bytearray(out.frame)
        if len(frame) <= PAYLOAD or frame[PAYLOAD - HEADER_BYTES] & 0xF != 2 or self._bits.random() >= self.share / 2:
            return out
        word = PAYLOAD + 4 * self._bits.randrange((len(frame) - PAYLOAD) // 4)
        value = int.from_bytes(frame[word : word + 4], "big") ^ 1 << self._bits.randrange(self.bits)
        frame[word : word + 4] = value.to_bytes(4, "big")
        frame[CHECKSUM] = bytes(2)
        self.flips["results"] += 1
        return PacketOut(out.port, bytes(frame))


@pytest.fixture(scope="module")
def switch() -> FlippingSwitch:
    return FlippingSwitch()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, switch: FlippingSwitch) -> Iterator[Site]:
    with running(tmp_path_factory.mktemp("certified"), switch, bmv2_pipeline(), "10.95.") as running_site:
        yield running_site


@pytest.mark.parametrize("codec", ["thc", "thc bits=3", "thc bits=8", "fixed", "sketch"])
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_certified_job_has_exact_sums(site: Site, switch: FlippingSwitch, codec: str, share: float) -> None:
    job = site.controller.admit(JobRequest("certified", HOSTS, slots=SLOTS, codec=codec, certified=True))
    assert all(ticket.certified for ticket in job.tickets)
    before = site.controller.counters()["switches"]["s1"].get("contribute_and_complete", 0)
    switch.share, switch.flips = share, collections.Counter()
    switch.bits = 32 if codec.startswith("thc") else 16
    try:
        got, alone = site.reduce(job, codec, rounds=3)
    finally:
        switch.share = 0.0
    assert_exact(got, alone)
    assert site.controller.counters()["switches"]["s1"]["contribute_and_complete"] > before
    assert not share or (switch.flips["registers"] and switch.flips["results"])
    site.controller.remove("certified")


def test_switch_that_flips_again_is_left_out(site: Site, switch: FlippingSwitch) -> None:
    """The controller lets the server sum after the workers' reports, and the switch after its return."""
    controller, requested = site.controller, JobRequest("flipped", HOSTS, slots=SLOTS, codec="thc", certified=True)
    with ControllerService(controller, "127.0.0.1:0") as service, Monitor(controller):
        job = controller.admit(requested)
        switch.share = 0.3
        try:
            got, alone = site.reduce(job, "thc", rounds=3, address=f"127.0.0.1:{service.port}")
            wait_until(lambda: "s1" in controller.job("flipped").left_out)
            assert_exact(got, alone)
            (why,) = controller.job("flipped").left_out.values()
            assert why.startswith("it is drained: ") and "of its results failed their check" in why
            told = [event.what for event in controller.events.latest() if event.whom == "flipped"]
            assert any("of s1 failed their check at worker" in what for what in told)
            assert_exact(*site.reduce(controller.job("flipped"), "thc", address=f"127.0.0.1:{service.port}"))
        finally:
            switch.share = 0.0
        assert controller.undrain("s1", name="flipped") == ["flipped"]
        before = controller.counters()["switches"]["s1"]["contribute_and_complete"]
        assert_exact(*site.reduce(controller.job("flipped"), "thc", address=f"127.0.0.1:{service.port}"))
        assert controller.counters()["switches"]["s1"]["contribute_and_complete"] > before
    controller.remove("flipped")


def test_codec_with_table_cannot_be_certified(site: Site) -> None:
    with pytest.raises(AdmissionError, match="'thc-paper' looks codes up in a table, so its sums"):
        site.controller.admit(JobRequest("table", HOSTS, codec="thc-paper", certified=True))


def test_more_workers_than_check_words_are_refused() -> None:
    hosts = [f"h{number}" for number in range(31)]
    request = JobRequest("many", tuple(hosts), certified=True, words=32)
    with pytest.raises(AdmissionError, match="MAX cannot be certified: packets of 32 words have no room"):
        request.check(hosts)
