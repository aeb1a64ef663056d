from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

_RandomKey: TypeAlias = tuple[int, int, int, int, int]
_Rotation: TypeAlias = tuple[NDArray[np.uint32], int]
_Scale: TypeAlias = tuple[tuple[float, float, float], float]
_BlockUnits: TypeAlias = tuple[NDArray[np.float32], float, int]
_SharedDithers: TypeAlias = tuple[int, int, int]
_Rounding: TypeAlias = tuple[int, NDArray[np.uint8], NDArray[np.uint8], int, int, int]
_DitherSum: TypeAlias = tuple[int, NDArray[np.uint16], int, int, int]

PROTOCOL_VERSION: int

def header_fields(packed: bytes) -> dict[str, int]: ...
def repack_header(packed: bytes) -> bytes: ...
def lane_levels() -> list[str]: ...
def lane_level() -> str: ...
def set_lane_level(name: str) -> None: ...
def contribute(
    op: int,
    accumulator: NDArray[np.uint32],
    payload: NDArray[np.uint8],
    *,
    wide: bool = False,
    code_table: bytes | None = None,
    first: bool = False,
) -> None: ...
def merge(op: int, accumulator: NDArray[np.uint32], words: NDArray[np.uint32]) -> None: ...
def store_words(wire: NDArray[np.uint8], words: NDArray[np.uint32]) -> None: ...
def load_words(words: NDArray[np.uint32], wire: NDArray[np.uint8]) -> None: ...
def lane_rate(op: int, words: int, entries: int, seconds: float, first: bool = False) -> tuple[float, float]: ...
def probe_offload(fd: int) -> tuple[bool, str]: ...

class DatagramReceiver:
    error: int
    gro: bool
    full: bool
    def __init__(self, fd: int, batch: int, gro: bool) -> None: ...
    def receive(self) -> list[tuple[bytes, tuple[str, int], bool]]: ...
    def drain(self) -> int: ...

class DatagramSender:
    gso: bool
    def __init__(self, fd: int, gso: bool) -> None: ...
    def add(self, datagram: bytes, to: tuple[str, int] | None = None) -> None: ...
    def flush(self) -> int: ...

class Aggregator:
    def __init__(self) -> None: ...
    def admit(
        self,
        job: int,
        tag: int,
        members: list[tuple[str, int, int, int, int]],
        slots: int,
        ops: list[int],
        code_table: bytes | None,
        accumulator_words: int,
        two_levels: bool,
        on_switches: bool,
    ) -> None: ...
    def delegate(self, job: int) -> None: ...
    def set_on_switches(self, job: int, on_switches: bool) -> None: ...
    def remove(self, job: int) -> None: ...
    def handle(
        self, ip: str, port: int, datagram: bytes, congested: bool
    ) -> list[tuple[tuple[str, int], bytes]] | None: ...
    def decisions(self) -> dict[str, int]: ...
    def refused(self) -> dict[str, int]: ...
    def owner(self, job: int, slot: int, shadow: int) -> tuple[int, int] | None: ...

class UdpServer:
    def __init__(
        self,
        aggregator: Aggregator,
        sockets: list[int],
        gso: bool,
        gro: bool,
        spin_s: float,
        delegate: Callable[[tuple[str, int], bytes, bool], list[tuple[tuple[str, int], bytes]]],
    ) -> None: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def broken(self) -> int: ...

TAKEN_COMPLETED: int
TAKEN_CONFLICT: int
TAKEN_GONE: int

class RttEstimator:
    shortest_s: float | None
    quick_timeout_s: float
    timeout_s: float
    def sample(self, rtt_s: float) -> None: ...

class CongestionControl:
    packets: int
    def result(self, sent: int, following: int, marked: bool) -> None: ...
    def silence(self, following: int, under_way: int) -> None: ...

class Fixed(CongestionControl):
    def __init__(self, packets: int) -> None: ...

class Aimd(CongestionControl):
    def __init__(self, most: int) -> None: ...

class SlotWindow:
    def bypass(self, slot: int) -> bool: ...
    def result(self, slot: int, collided: bool) -> None: ...

class ServerPath:
    rtt: RttEstimator
    sequence: int
    answer_interval_s: float

class Link:
    congestion: CongestionControl
    slots: SlotWindow
    paths: list[ServerPath]
    sequence: int
    unanswered: int

class RoundWindow:
    NOBODY: ClassVar[int]
    chunks: int
    epoch: int
    strangers: int
    finished: bool
    answered: bool
    done_chunks: int
    def is_done(self, chunk: int) -> bool: ...
    def withhold(self) -> None: ...
    def offer(self, chunks: int) -> None: ...
    def await_(self, chunks: int) -> None: ...
    def missing_workers(self) -> list[int]: ...
    def result(self) -> NDArray[np.uint32]: ...
    def contributors(self) -> NDArray[np.uint32]: ...

LATENCY_BUCKETS: int
MAX_ACTIVE: int

class RoundSequence:
    epoch: int
    position: int
    answered: bool
    can_start: bool
    link: Link
    def __init__(
        self,
        *,
        job: int,
        tag: int,
        worker: int,
        workers: int,
        slots: int,
        accumulator_words: int,
        epoch: int,
        quorum: int,
        places: Sequence[tuple[int, int]],
        servers: int,
        window: int,
        congestion: str,
    ) -> None: ...
    def stats(self) -> dict[str, int]: ...
    def latency(self) -> bytes: ...
    def start(self, op: int, words: NDArray[np.uint32]) -> RoundWindow: ...
    def finish(self, window: RoundWindow) -> None: ...
    def due(self, now: float) -> list[memoryview]: ...
    def next_timeout(self, now: float) -> float | None: ...
    def receive(self, datagram: bytes | memoryview, now: float) -> int: ...
    def last_words(self) -> list[memoryview]: ...
    def missing_workers(self) -> list[int]: ...

KERNEL_ARGUMENTS: tuple[str, ...]

class CodecKernels:
    """Kernels of lanesum.codecs.kernels.dispatch.Kernels, and what only tests use.

    Records are tuples of the fields that lanesum/codecs/kernels/arguments.py names.
    """

    level: str
    def __init__(self, level: str | None = None) -> None: ...
    @staticmethod
    def levels() -> list[str]: ...
    def random_words(self, key: _RandomKey, out: NDArray[np.uint32]) -> None: ...
    def hadamard_transform(self, values: NDArray[np.float32], block: int) -> None: ...
    def square_sums(self, values: NDArray[np.float32], chunk: int, out: NDArray[np.float64]) -> None: ...
    def rotate(
        self, values: NDArray[np.float32], powers: tuple[float, float], rotation: _Rotation, out: NDArray[np.float32]
    ) -> None: ...
    def quantize(
        self,
        rotated: NDArray[np.float32],
        factor: float,
        cells: NDArray[np.uint32],
        key: _RandomKey,
        words: NDArray[np.uint32],
    ) -> None: ...
    def decode(
        self,
        lanes: NDArray[np.uint32],
        contributors: tuple[float, NDArray[np.float32] | None, bool],
        rotation: _Rotation,
        scale: _Scale,
        scratch: NDArray[np.float32],
        out: NDArray[np.float32],
    ) -> None: ...
    def residual(
        self,
        values: NDArray[np.float32],
        codes: NDArray[np.uint32],
        levels: NDArray[np.float32],
        included: NDArray[np.uint8] | None,
        rotation: _Rotation,
        scale: _Scale,
        scratch: NDArray[np.float32],
        out: NDArray[np.float32],
    ) -> None: ...
    def magnitudes(self, values: NDArray[np.float32], block: int, out: NDArray[np.uint32]) -> None: ...
    def not_below(self, values: NDArray[np.float32], least: int, mask: NDArray[np.uint8]) -> None: ...
    def largest(self, values: NDArray[np.float32], wanted: int, mask: NDArray[np.uint8]) -> None: ...
    def to_integers(self, values: NDArray[np.float32], units: _BlockUnits, out: NDArray[np.int32]) -> None: ...
    def from_integers(
        self,
        sums: NDArray[np.int32],
        units: _BlockUnits,
        divisor: float,
        counts: NDArray[np.float64] | None,
        out: NDArray[np.float32],
    ) -> None: ...
    def integer_residual(
        self, values: NDArray[np.float32], integers: NDArray[np.int32], units: _BlockUnits, out: NDArray[np.float32]
    ) -> None: ...
    def sum_rows(self, rows: NDArray[np.float32], divisor: float, out: NDArray[np.float32]) -> None: ...

class BlockKernels:
    """Kernels of lanesum.codecs.thc.kernels.BlockKernels.

    Records are tuples of the fields that lanesum/codecs/thc/dither.py names.
    """

    level: str
    def __init__(self, level: str | None = None) -> None: ...
    def rotate_blocks(
        self,
        values: NDArray[np.float32],
        powers: NDArray[np.float32],
        rotation: _Rotation,
        out: NDArray[np.float32],
    ) -> None: ...
    def quantize_blocks(
        self,
        rotated: NDArray[np.float32],
        factors: NDArray[np.float32],
        block: int,
        dithers: _SharedDithers,
        rounding: _Rounding,
        words: NDArray[np.uint32],
    ) -> None: ...
    def encode_blocks(
        self,
        values: NDArray[np.float32],
        powers: NDArray[np.float32],
        factors: NDArray[np.float32],
        rotation: _Rotation,
        dithers: _SharedDithers,
        rounding: _Rounding,
        words: NDArray[np.uint32],
    ) -> None: ...
    def estimate_blocks(
        self,
        lanes: NDArray[np.uint32],
        lane_bits: int,
        block: int,
        dithers: _SharedDithers,
        taken: _DitherSum,
        out: NDArray[np.float32],
    ) -> None: ...
    def restore_blocks(
        self,
        rotated: NDArray[np.float32],
        factors: NDArray[np.float32],
        rotation: _Rotation,
        out: NDArray[np.float32],
    ) -> None: ...
    def decode_blocks(
        self,
        lanes: NDArray[np.uint32],
        lane_bits: int,
        factors: NDArray[np.float32],
        rotation: _Rotation,
        dithers: _SharedDithers,
        taken: _DitherSum,
        out: NDArray[np.float32],
    ) -> None: ...
    def residual_blocks(
        self,
        values: NDArray[np.float32],
        codes: NDArray[np.uint32],
        factors: NDArray[np.float32],
        rotation: _Rotation,
        dithers: _SharedDithers,
        rounding: _Rounding,
        out: NDArray[np.float32],
    ) -> None: ...

class Pause:
    REACHED: Pause
    WOKEN: Pause
    SLICE: Pause
    DEADLINE: Pause
    CONFLICT: Pause
    GONE: Pause
    SEND_FAILED: Pause
    RECEIVE_FAILED: Pause
    CLOSED: Pause

class UdpRounds:
    verdict: bytes
    error: int
    failed_server: int
    joins: bool
    def __init__(self, rounds: RoundSequence, fds: Sequence[int], join: bool, take_joined: bool) -> None: ...
    def begin(self, deadline_s: float, leave_s: float) -> None: ...
    def run(self, slice_s: float) -> Pause: ...
    def wake(self) -> None: ...
    def send(self) -> Pause: ...
    def attend(self) -> Pause: ...
    def close(self) -> None: ...
