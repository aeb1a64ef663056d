# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Ways to all-reduce: bytes on a worker's link, and the stages of a bucket."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lanesum import codecs
from lanesum.codecs.base import Codec, RoundShape
from lanesum.codecs.thc import THC, WidthTHC
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import FRAME_OVERHEAD_BYTES, MAX_RACKS, MAX_WORKERS, WORD_BYTES
from lanesum.transport.constants import MIN_PTO_S
from lanesum_fabric.tofino.chips import PORT_BITS_PER_SECOND
from lanesum_lab.builds.rates import TCP_PAYLOAD_BYTES, gloo_bytes, recirculated_bytes
from lanesum_lab.forecast.costs import HostCosts
from lanesum_lab.forecast.scenario import ForecastJob, ForecastNetwork

_MATHIS = 1.22  # factor of the bound of TCP's rate under loss (Mathis et al., 1997, section 2)
# Shares of the bytes of a ring of float32. TCP headers are those of the ring.
_RING = {"nccl": 1.0, "nccl-fp16": 0.5, "gloo": 1.0}
TREE, PARAMETER_SERVER = "nccl-tree", "parameter server"
# Bits of a value in two shots.
_TWO_SHOT = {"two-shot-8": 8, "two-shot-4": 4}
PEERS = (*_RING, TREE, *_TWO_SHOT, PARAMETER_SERVER)
# Rings that leave a shard of the sum on each worker half-way. That of gloo is an all-reduce in PyTorch, too.
_SCATTERED_RING = {"nccl": 0.5, "nccl-fp16": 0.25, "gloo": 1.0}
# Codecs whose sums the server sends to the owners of their shards alone.
_SCATTERED_CODECS = ("thc", "fixed")
#: Its error is a multiple of that of ``thc`` with as many bytes, see docs/codec-baselines.md.
LESS_EXACT = ("two-shot-4",)


@dataclass(frozen=True, slots=True)
class BucketTraffic:
    """Bytes of one bucket on a worker's link, with all headers, preamble, gap and frame check."""

    up: float
    down: float


@dataclass(frozen=True, slots=True)
class PipelineStage:
    """A step of a segment of a bucket: ``resource`` is busy for ``seconds``; a delay without one."""

    resource: str | None
    seconds: float


class PeerMethod:
    """All-reduce by a process group, in two shots of quantized values, or by a parameter server.

    Reduce-scatters are those of process groups, see ``peers``.
    """

    def __init__(self, name: str, network: ForecastNetwork, job: ForecastJob, costs: HostCosts) -> None:
        self.name, self._network, self._costs = name, network, costs
        self._ring = _SCATTERED_RING if job.scattered else _RING

    def traffic(self, values: int) -> BucketTraffic:
        """Return the bytes of a bucket."""
        workers = self._network.workers
        ring = gloo_bytes(workers, self._network.wire_overhead) * values
        if self.name in self._ring:
            ring *= self._ring[self.name]
        elif self.name == TREE:
            ring *= workers / (workers - 1)  # each value goes up and down once
        elif self.name in _TWO_SHOT:
            ring *= _TWO_SHOT[self.name] / 32
        else:
            ring *= workers / (workers - 1) / 2
        return BucketTraffic(ring, ring)

    def seconds(self, values: int) -> float:
        """Return the time of a bucket: link and host take turns irregularly, messages wait for each other."""
        network, workers = self._network, self._network.workers
        busy = self.busy_s(values)
        # The messages of a ring or a tree wait for each other; the others cross the network at the same time.
        messages = 2 * math.log2(workers) if self.name == TREE else 2.0 * (workers - 1)
        messages *= self._ring.get(self.name, 1.0) / _RING.get(self.name, 1.0)  # those of a shard are half as many
        waits = 2.0 if self.name in (*_TWO_SHOT, PARAMETER_SERVER) else messages
        link_s = max(busy["link"], busy["rack"], busy["pod"])
        return math.hypot(link_s, busy["host"]) + waits * network.one_way_s + messages * self._costs.message_s

    def busy_s(self, values: int) -> dict[str, float]:
        """Return the time that a bucket takes of each resource."""
        network, costs = self._network, self._costs
        workers, up = network.workers, self.traffic(values).up
        through = up * workers if self.name == PARAMETER_SERVER else up
        # All bytes of a ring or a tree cross racks and pods once. Otherwise each worker there sends to the others.
        senders = workers if self.name in (*_TWO_SHOT, PARAMETER_SERVER) else 1
        host_s = through * (costs.nccl_s if self.name.startswith("nccl") else costs.gloo_s)
        if self.name in _TWO_SHOT:  # a vector and a share are quantized, two vectors decoded
            encode_s, decode_s = costs.codec("thc")
            host_s += values * (encode_s * (1 + 1 / workers) + 2 * decode_s)
        crossed = {
            "rack": 8 * up * max(1, senders / network.racks) / network.rack_rate if network.racks > 1 else 0.0,
            "pod": 8 * up * max(1, senders / network.pods) / network.pod_rate if network.pods > 1 else 0.0,
        }
        share = costs.gloo_link if self.name == "gloo" else 1.0
        return {"host": host_s, "link": 8 * through / (share * self._rate()), **crossed}

    def _rate(self) -> float:
        network = self._network
        if network.loss == 0:
            return network.rate
        round_trip_s = 2 * network.one_way_s + self._costs.message_s
        return min(network.rate, 8 * TCP_PAYLOAD_BYTES * _MATHIS / (round_trip_s * math.sqrt(network.loss)))


class InNetwork:
    """All-reduce by lanesum with one codec.

    Raises ConfigurationError for an unknown codec, for one whose bytes depend on the data, and for more workers than it
    or a packet's bitmaps hold.
    """

    def __init__(self, name: str, network: ForecastNetwork, job: ForecastJob, costs: HostCosts) -> None:
        self.name, self.network, self.costs = name, network, costs
        self._codec_s = costs.codec(name)
        per_rack = math.ceil(network.workers / network.racks)
        racks = network.racks if network.levels == 2 else math.ceil(network.racks / network.pods)
        if per_rack > MAX_WORKERS or racks > MAX_RACKS:
            raise ConfigurationError(
                f"A job has at most {MAX_WORKERS} workers in a rack and {MAX_RACKS} racks, here {per_rack} and "
                f"{racks}: a packet has bitmaps of two levels.",
                f"Give --racks, or plan several jobs of at most {MAX_WORKERS * MAX_RACKS:,} workers.",
            )
        self._codec = _sized(name, network.workers, job.adaptive)
        #: A worker can have the sums of its own shard alone.
        self.scatters = self._codec.name in _SCATTERED_CODECS
        self._owners = network.workers if job.scattered and self.scatters else 1

    def traffic(self, values: int) -> BucketTraffic:
        """Return the bytes of a bucket, without retransmissions."""
        up = down = 0.0
        for _, chunks, contribution, result in self._rounds(values):
            up += chunks * contribution
            down += chunks * result
        return BucketTraffic(up, down)

    def chunks(self, values: int) -> int:
        """Return the packets of a bucket that a worker sends."""
        return sum(chunks for _, chunks, _, _ in self._rounds(values))

    def opening_s(self, values: int) -> float:
        """Return the time until the first codes may be sent: the round of norms, if the codec has one."""
        *first, _ = self._rounds(values)
        return sum(
            self.loop_s + chunks * max(self.costs.chunk_s, 8 * (contribution + result) / self.network.rate)
            for _, chunks, contribution, result in first
        )

    def stages(self, values: int, segments: int) -> list[PipelineStage]:
        """Return the stages of one of ``segments`` equal parts of a bucket."""
        network, costs = self.network, self.costs
        *_, (shape, chunks, contribution, result) = self._rounds(values)
        part = chunks / segments
        encode_s, decode_s = (values / segments * one for one in self._codec_s)
        decode_s /= self._owners
        again = 1 + self.loss  # all workers repeat their contributions to a chunk without a result, and get it again
        half_s = part * self.costs.chunk_s / 2
        stages = [
            PipelineStage("host", encode_s + half_s),
            PipelineStage("up", again * part * contribution * 8 / self._windowed(contribution)),
            PipelineStage(None, self.loop_s / 2),
        ]
        if network.served:
            stages.append(PipelineStage("server", part * network.served * costs.contribution_s))
        if network.profile is not None and network.profile.passes > 1:
            each, whole = recirculated_bytes(network.profile, shape.op)
            of_rack = math.ceil(network.workers / network.racks)
            stages.append(PipelineStage("recirculation", part * (each * of_rack + whole) * 8 / PORT_BITS_PER_SECOND))
        if network.racks > 1:
            # A switch sends one sum of its rack; without one all contributions cross, and all results come back.
            crossing = result if network.profile else max(contribution, result) * network.workers / network.racks
            stages.append(PipelineStage("rack", part * crossing * 8 / network.rack_rate))
            if network.pods > 1:
                summed = network.levels == 3 and network.profile is not None
                crossing *= 1 if summed else network.racks / network.pods
                stages.append(PipelineStage("pod", part * crossing * 8 / network.pod_rate))
        return [
            *stages,
            PipelineStage(None, self.loop_s / 2),
            PipelineStage("down", again * part * result * 8 / self._windowed(result)),
            PipelineStage("host", half_s + decode_s),
        ]

    def busy_s(self, values: int) -> dict[str, float]:
        """Return the time that the codes of a bucket take of each resource."""
        busy: dict[str, float] = {}
        for stage in self.stages(values, 1):
            if stage.resource is not None:
                busy[stage.resource] = busy.get(stage.resource, 0.0) + stage.seconds
        return busy

    @property
    def loop_s(self) -> float:
        """Time from a contribution to its result on idle links."""
        network = self.network
        host_s = self.costs.chunk_s + network.served * self.costs.contribution_s
        return network.one_way_s + max(self.costs.round_s, host_s)

    @property
    def repair_s(self) -> float:
        """Time in which a lost packet is detected and its result arrives."""
        return 2.25 * self.loop_s  # RFC 9002, 6.1.2: 9/8 of a round trip until it is lost, and as long for the repair

    @property
    def last_repair_s(self) -> float:
        """As ``repair_s``, of the last packets of a round: no later ones show their loss."""
        return MIN_PTO_S + self.loop_s

    @property
    def loss(self) -> float:
        """Probability that a chunk needs a repair: a contribution or a worker's own result is lost."""
        return 1.0 - (1.0 - self.network.loss) ** (self.network.workers + 1)

    def slots_needed(self, values: int) -> int:
        """Return the slots that fill the slower direction of the link."""
        *_, (_, _, contribution, result) = self._rounds(values)
        busy_s = 8 * max(contribution, result) / self.network.rate
        return max(1, math.ceil(self._occupied_s() / max(busy_s, self.costs.chunk_s)))

    def _occupied_s(self) -> float:
        """Return the mean time of a chunk in its slot."""
        return self.loop_s + self.loss * self.repair_s

    def _windowed(self, size: float) -> float:
        """Return the rate that the slots of a job permit for packets of ``size`` bytes."""
        return min(self.network.rate, 8 * size * self.network.slots / self._occupied_s())

    def _rounds(self, values: int) -> Iterator[tuple[RoundShape, int, float, float]]:
        """Yield shape, packets, bytes of a contribution and bytes of a result of every round."""
        overhead = FRAME_OVERHEAD_BYTES + self.network.wire_overhead
        *first, last = self._codec.shapes(values)
        for shape in (*first, last):
            owners = self._owners if shape is last else 1
            chunks = owners * math.ceil(shape.result_words / owners / self.network.words)
            # A server sends headers alone to the other workers; programs for chips send whole sums.
            result = shape.result_words / (owners if self.network.profile is None else 1)
            yield shape, chunks, overhead + WORD_BYTES * shape.words / chunks, overhead + WORD_BYTES * result / chunks


class InTwoSteps(InNetwork):
    """All-reduce as a reduce-scatter and an all-gather, which begins with the first sums.

    Workers gather the words of sums, so the result has the bits of ``InNetwork``. The server sends the copies of each
    owner's words past the switches, behind a link like that of a worker (docs/decisions/0026-gathered-rounds.md).
    """

    def __init__(self, name: str, network: ForecastNetwork, job: ForecastJob, costs: HostCosts) -> None:
        super().__init__(name, network, replace(job, scattered=True), costs)
        self.name = f"{name}, two steps"

    def traffic(self, values: int) -> BucketTraffic:
        """Return the bytes of a bucket, of both steps."""
        scattered, (chunks, up, down, _) = super().traffic(values), self._gathered(values)
        return BucketTraffic(scattered.up + chunks * up, scattered.down + chunks * down)

    def stages(self, values: int, segments: int) -> list[PipelineStage]:
        """Return the stages of one of ``segments`` equal parts of a bucket, of both steps."""
        network, workers = self.network, self.network.workers
        chunks, up, down, crossing = self._gathered(values)
        part = chunks / segments
        *scattered, last = super().stages(values, segments)
        half_s = part * self.costs.chunk_s / 2
        decode_s = values / segments * self._codec_s[1] * (1 - 1 / workers)
        copied_s = part * workers * max(self.costs.contribution_s, down * 8 / network.rate if network.profile else 0.0)
        crossed = part * workers * crossing * 8
        return [
            *scattered,
            PipelineStage("host", last.seconds + half_s),
            PipelineStage("up", (1 + self.loss) * part * up * 8 / self._windowed(up)),
            PipelineStage(None, self.loop_s / 2),
            PipelineStage("server", copied_s),
            *([PipelineStage("rack", crossed / network.racks / network.rack_rate)] if network.racks > 1 else []),
            *([PipelineStage("pod", crossed / network.pods / network.pod_rate)] if network.pods > 1 else []),
            PipelineStage(None, self.loop_s / 2),
            PipelineStage("down", (1 + self.loss) * part * down * 8 / self._windowed(down)),
            PipelineStage("host", half_s + decode_s),
        ]

    def _gathered(self, values: int) -> tuple[int, float, float, float]:
        """Return the packets, and the mean bytes that they add to uplink, downlink, and busier direction of racks."""
        *_, (shape, chunks, contribution, result) = self._rounds(values)
        overhead = FRAME_OVERHEAD_BYTES + self.network.wire_overhead
        words, workers = WORD_BYTES * shape.result_words / chunks, self.network.workers
        up, down = overhead + words / workers, overhead + words * (1 - 1 / workers)
        if self.network.profile is not None:
            return chunks, up, down, max(up, down)  # the switch of the rack has summed the contributions
        return chunks, up, down, max(contribution + up, result + down) - max(contribution, result)


def peers(job: ForecastJob) -> tuple[str, ...]:
    """Return the names of the peers that have the job's collective."""
    return tuple(_SCATTERED_RING) if job.scattered else PEERS


def _sized(name: str, workers: int, adaptive: bool) -> Codec:
    codec = codecs.get(name, workers=workers)
    if isinstance(codec, WidthTHC) or codec.traits.depends_on_past_sums or codec.traits.stateful:
        raise ConfigurationError(
            f"The bytes of codec {name} depend on the gradients, so they cannot be planned.",
            "Measure it: lanesum bench allreduce --gradients transformer.",
        )
    if isinstance(codec, THC) and adaptive and codec.for_adaptive is not None:
        return codec.for_adaptive
    return codec
