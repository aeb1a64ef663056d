# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Plain datagrams: their processor cost is the peer of the aggregation server.

As a process (arguments ADDRESS PORT) it echoes datagrams, for the minimum of a round trip.
"""

from __future__ import annotations

import json
import shutil
import socket
import sys
import tempfile
import time
from pathlib import Path

from lanesum._internal.udp_socket import MAX_DATAGRAM_BYTES
from lanesum.launch.supervisor import ProcessFailedError
from lanesum_lab.bench.figures import BenchError
from lanesum_lab.run.supervisor import RunSupervisor

IPERF3 = "iperf3"
_BATCH = 32
_PORT = 5301
_TRIES = 20
_TRY_S = 0.1
_BY_HAND = "Run iperf3 -s and iperf3 -u -c 127.0.0.1 by hand."


def bare_sockets(size: int, seconds: float) -> float:
    """Return the CPU seconds per received and sent datagram: one call each, in one thread, on loopback."""
    datagram, buffer = bytes(size), bytearray(size)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(1.0)
        sender.connect(receiver.getsockname())
        count, cpu, end = 0, time.process_time(), time.monotonic() + seconds
        while time.monotonic() < end:
            for _ in range(_BATCH):
                sender.send(datagram)
            for _ in range(_BATCH):
                receiver.recv_into(buffer)
            count += _BATCH
        return (time.process_time() - cpu) / count


def iperf3_missing() -> str:
    """Return the reason why iperf3 cannot be measured; empty if it can."""
    return "" if shutil.which(IPERF3) else f"{IPERF3} is not on PATH (apt install iperf3)"


def iperf3(size: int, seconds: float) -> float:
    """Return the CPU seconds per received and sent datagram on loopback, as iperf3 reports. Raises BenchError."""
    for attempt in range(_TRIES):
        with tempfile.TemporaryDirectory(prefix="lanesum-") as folder, RunSupervisor(Path(folder)) as supervisor:
            at = ["-p", str(_PORT + attempt)]
            server = supervisor.start("server", [IPERF3, "-s", "-1", "-B", "127.0.0.1", *at])
            time.sleep(_TRY_S)
            length = ["-u", "-b", "0", "-l", str(size), "-t", f"{max(1.0, seconds):g}"]
            client = supervisor.start("client", [IPERF3, "-J", "-c", "127.0.0.1", *length, *at])
            try:
                supervisor.wait([client, server], 60.0 + seconds)
            except ProcessFailedError:
                continue  # the port may be taken, or the other end not ready yet
            output = json.loads((Path(folder) / "client.log").read_text())["end"]
        total, cpu = output["sum"], output["cpu_utilization_percent"]
        received = total["packets"] - total["lost_packets"]
        if received <= 0:
            raise BenchError("iperf3 received no datagram.", _BY_HAND)
        taken = total["seconds"] / 100
        return float(taken * (cpu["host_total"] / total["packets"] + cpu["remote_total"] / received))
    raise BenchError(f"iperf3 could not be run at {_TRIES} ports from {_PORT} on.", _BY_HAND)


def main(arguments: list[str]) -> None:
    """Send every datagram back until the process ends."""
    address, port = arguments
    buffer = bytearray(MAX_DATAGRAM_BYTES)
    view = memoryview(buffer)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((address, int(port)))
        while True:
            size, peer = sock.recvfrom_into(buffer)
            sock.sendto(view[:size], peer)


if __name__ == "__main__":
    main(sys.argv[1:])
