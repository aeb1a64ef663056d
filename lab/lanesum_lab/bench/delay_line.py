# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Links with a delay, without netem: pairs of TAP interfaces in namespaces, and a process that relays between them.

``python -m lanesum_lab.bench.delay_line DELAY_MS NAMESPACE INTERFACE NAMESPACE INTERFACE ...`` makes a link of each two
interfaces. It relays until its standard input closes. TCP passes in frames of up to 64 KiB (TSO).
"""

from __future__ import annotations

import collections
import contextlib
import fcntl
import os
import select
import struct
import subprocess
import sys
import time
from collections.abc import Sequence

from lanesum_lab.bench.figures import BenchError
from lanesum_lab.veth import enter

# See linux/if_tun.h: Ethernet interfaces whose frames have a virtio header, for checksums and TSO of the kernel.
_TUNSETIFF, _TUNSETOFFLOAD = 0x400454CA, 0x400454D0
_IFF_TAP, _IFF_NO_PI, _IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
_TUN_F_CSUM, _TUN_F_TSO4 = 0x01, 0x02
_FRAME_BYTES = 1 << 17
_MAX_BYTES = 64 << 20  # of a direction, on their way
_READY = "ready"


def open_tap(namespace: str, interface: str) -> int:
    """Make a TAP interface in a namespace, which this thread enters; return its descriptor. Raises OSError."""
    enter(namespace)
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, _TUNSETIFF, struct.pack("16sH22x", interface.encode(), _IFF_TAP | _IFF_NO_PI | _IFF_VNET_HDR))
    fcntl.ioctl(tap, _TUNSETOFFLOAD, _TUN_F_CSUM | _TUN_F_TSO4)
    return tap


class DelayLine:
    """Frames on their way from one descriptor to another, in order, for ``delay_s`` seconds each."""

    def __init__(self, source: int, target: int, delay_s: float, max_bytes: int = _MAX_BYTES) -> None:
        self.source, self._target, self._delay_s, self._left = source, target, delay_s, max_bytes
        self._frames: collections.deque[tuple[float, bytes]] = collections.deque()

    def take(self) -> None:
        """Take all frames that the source has. Raises BenchError: too many bytes are on their way."""
        with contextlib.suppress(BlockingIOError):
            while frame := os.read(self.source, _FRAME_BYTES):
                self._left -= len(frame)
                if self._left < 0:
                    what = f"Too many bytes for a link with a delay of {1000 * self._delay_s:g} ms."
                    raise BenchError(what, "Lower its rate or its delay.")
                self._frames.append((time.monotonic() + self._delay_s, frame))

    def deliver(self) -> float | None:
        """Deliver the frames that are due; return the seconds until the next one is, or None."""
        while self._frames:
            if (left := self._frames[0][0] - time.monotonic()) > 0:
                return left
            frame = self._frames.popleft()[1]
            self._left += len(frame)
            with contextlib.suppress(OSError):  # the interface is down
                os.write(self._target, frame)
        return None


def start(delay_ms: float, links: Sequence[str]) -> subprocess.Popen[str]:
    """Start a process that makes links, whose arguments these are. Raises BenchError."""
    command = [sys.executable, "-m", "lanesum_lab.bench.delay_line", f"{delay_ms:g}", *links]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if process.stdout is None or process.stdout.readline().strip() != _READY:
        process.communicate()
        raise BenchError("Links with a delay cannot be made; the reason is above.", "Load the kernel module tun.")
    return process


def main(arguments: Sequence[str]) -> None:
    """Make the links, say so on standard output, and relay."""
    ends = [open_tap(*pair) for pair in zip(arguments[1::2], arguments[2::2], strict=True)]
    pairs = [(one, ends[number ^ 1]) for number, one in enumerate(ends)]
    lines = {source: DelayLine(source, target, float(arguments[0]) / 1000) for source, target in pairs}
    print(_READY, flush=True)
    end = sys.stdin.fileno()
    while True:
        waits = [left for one in lines.values() if (left := one.deliver()) is not None]
        ready, _, _ = select.select([end, *lines], [], [], min(waits, default=None))
        if end in ready:
            return
        for source in ready:
            lines[source].take()


if __name__ == "__main__":
    main(sys.argv[1:])
