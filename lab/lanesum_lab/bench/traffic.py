# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Background traffic as a process in a network namespace of its own.

Arguments SOCKET ADDRESS at the sender; SOCKET alone at the receiver, whose address is ADDRESS.
"""

from __future__ import annotations

from pathlib import Path

from lanesum_lab.bench.agents import serve
from lanesum_lab.bench.background import Receiver, Sender

_TCP_ECN = Path("/proc/sys/net/ipv4/tcp_ecn")  # of this network namespace


def main(arguments: list[str]) -> None:
    """Work until the benchmark closes the connection."""
    path, *address = arguments
    _TCP_ECN.write_text("1")  # request ECN, and accept it
    if address:
        serve(path, Sender(address[0]).work)
    else:
        Receiver()
        serve(path, lambda task: task)
