# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Print the lanesum packets of a capture file, and count them by kind.

    lanesum capture lo --port 19540 --count 20 --out packets.pcap
    python examples/read_capture.py packets.pcap --port 19540

Needs scapy: pip install 'lanesum-lab[tools]'.
"""

from __future__ import annotations

import argparse
import collections

from scapy.layers.inet import UDP
from scapy.packet import bind_bottom_up, bind_layers
from scapy.utils import PcapReader

from lanesum.protocol.spec import UDP_PORT
from lanesum_lab.scapy_layer import LanesumPacket


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="capture file (pcap or pcapng)")
    parser.add_argument("--port", type=int, default=UDP_PORT, help=f"UDP port of the server (default: {UDP_PORT})")
    options = parser.parse_args()

    # The layer is bound to lanesum's default port. A server on another port needs its own binding.
    bind_layers(UDP, LanesumPacket, dport=options.port)
    bind_bottom_up(UDP, LanesumPacket, sport=options.port)
    counts: collections.Counter[str] = collections.Counter()
    with PcapReader(options.file) as packets:
        for packet in packets:
            if LanesumPacket in packet:
                layer = packet[LanesumPacket]
                # The fields have the names of the header: layer.job, layer.chunk, layer.workers, layer.payload_words.
                counts[layer.sprintf("%kind%")] += 1
                print(f"{float(packet.time):.6f} {layer.mysummary()}")
    print(", ".join(f"{number} {kind}" for kind, number in sorted(counts.items())) or "no lanesum packets")


if __name__ == "__main__":
    main()
