# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Other traffic as a process, in a network namespace of its own.

Arguments SOCKET ADDRESS at the host that sends; SOCKET alone at the one that receives, which is at ADDRESS.
"""

from __future__ import annotations

from pathlib import Path

from lanesum_lab.bench.agents import serve
from lanesum_lab.bench.background import Receiver, Sender

_TCP_ECN = Path("/proc/sys/net/ipv4/tcp_ecn")  # of this network namespace


def main(arguments: list[str]) -> None:
    """Until the benchmark goes away."""
    path, *address = arguments
    _TCP_ECN.write_text("1")  # ask for it, and grant it
    if address:
        serve(path, Sender(address[0]).work)
    else:
        Receiver()
        serve(path, lambda task: task)
