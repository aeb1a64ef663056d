# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Print lanesum packets of a capture file, or capture them on an interface (needs root).

    python examples/capture_packets.py --read switch.pcap
    python examples/capture_packets.py --interface lo --port 19540 --count 20

The interface ``lo`` shows the packets of workers and servers on one machine. Needs scapy: pip install
'lanesum-lab[tools]'.
"""

from __future__ import annotations

import argparse
import collections

from scapy.layers.inet import UDP
from scapy.packet import Packet, bind_bottom_up, bind_layers
from scapy.sendrecv import sniff
from scapy.utils import PcapReader

from lanesum.protocol.spec import UDP_PORT
from lanesum_lab.scapy_layer import LanesumPacket


class Printer:
    """Prints one line for each lanesum packet, and counts them by kind."""

    def __init__(self) -> None:
        self.counts: collections.Counter[str] = collections.Counter()

    def __call__(self, packet: Packet) -> None:
        if LanesumPacket in packet:
            layer = packet[LanesumPacket]
            # The fields have the names of the header: layer.job, layer.chunk, layer.workers, layer.payload_words, ...
            self.counts[layer.sprintf("%kind%")] += 1
            print(f"{float(packet.time):.6f} {layer.mysummary()}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--read", metavar="FILE", help="capture file (pcap or pcapng)")
    source.add_argument("--interface", help="interface to capture on, such as lo; needs root")
    parser.add_argument("--port", type=int, default=UDP_PORT, help=f"UDP port of the server (default: {UDP_PORT})")
    parser.add_argument("--count", type=int, default=0, help="end after this number of packets (default: no limit)")
    parser.add_argument("--seconds", type=float, help="end after this time (default: no limit)")
    options = parser.parse_args()

    # The layer is bound to lanesum's default port. A server on another port needs its own binding.
    bind_layers(UDP, LanesumPacket, dport=options.port)
    bind_bottom_up(UDP, LanesumPacket, sport=options.port)
    printer = Printer()
    if options.read:
        with PcapReader(options.read) as packets:
            for packet in packets:
                printer(packet)
    else:
        sniff(
            iface=options.interface,
            lfilter=lambda packet: LanesumPacket in packet,
            prn=printer,
            store=False,
            count=options.count,
            timeout=options.seconds,
            started_callback=lambda: print(f"capturing on {options.interface}", flush=True),
        )
    print(", ".join(f"{number} {kind}" for kind, number in sorted(printer.counts.items())) or "no lanesum packets")


if __name__ == "__main__":
    main()
