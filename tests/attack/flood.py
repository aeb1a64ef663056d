# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Attacker process: ``python -m tests.attack.flood ORDER.json INTERFACE``. Needs CAP_NET_RAW.

Sends the frames of its order repeatedly until SIGTERM, then prints as JSON the number of frames sent of each kind.
Use it only in networks made for the purpose. ``tests.attack.kinds`` lists the frames.
"""

from __future__ import annotations

import collections
import itertools
import json
import signal
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from lanesum.transport.ticket import JobTicket
from tests.attack.attacker import Attacker, CapturedTraffic, Host
from tests.attack.kinds import frame

READY = "flooding"  # printed once the first frames are sent
_ROUNDS = 40  # frames of each kind, made before the first one is sent
_BURST = 64


@dataclass(frozen=True, slots=True)
class Order:
    """Task of an attacker process.

    Attributes:
        attacker: the attacker, with its captured traffic.
        kinds: kinds of attack, in turn.
        rate: frames per second; 0 means no limit.
        seed: seed of the random number generator.
    """

    attacker: Attacker
    kinds: tuple[str, ...]
    rate: float = 0.0
    seed: int = 0

    def to_json(self) -> str:
        traffic, own = self.attacker.traffic, self.attacker.own
        return json.dumps(
            {
                "tickets": [ticket.to_json() for ticket in traffic.tickets],
                "macs": [mac.hex() for mac in traffic.macs],
                "server_mac": traffic.server_mac.hex(),
                "gateway_mac": traffic.gateway_mac.hex(),
                "frames": [one.hex() for one in traffic.frames],
                "own": [own.mac.hex(), own.ip, own.udp_port],
                "ticket": None if self.attacker.ticket is None else self.attacker.ticket.to_json(),
                "kinds": self.kinds,
                "rate": self.rate,
                "seed": self.seed,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Order:
        """Read the text of ``to_json``. Raises KeyError or ValueError for any other text."""
        fields = json.loads(text)
        traffic = CapturedTraffic(
            tuple(map(JobTicket.from_json, fields["tickets"])),
            tuple(map(bytes.fromhex, fields["macs"])),
            bytes.fromhex(fields["server_mac"]),
            bytes.fromhex(fields["gateway_mac"]),
            [bytes.fromhex(one) for one in fields["frames"]],
        )
        mac, ip, udp_port = fields["own"]
        ticket = fields["ticket"]
        attacker = Attacker(
            traffic, Host(bytes.fromhex(mac), ip, udp_port), None if ticket is None else JobTicket.from_json(ticket)
        )
        return cls(attacker, tuple(fields["kinds"]), fields["rate"], fields["seed"])

    def frames(self) -> list[tuple[str, bytes]]:
        """Return the frames of one turn, with their kinds."""
        return [
            (kind, frame(self.attacker, kind, self.seed + number)) for number in range(_ROUNDS) for kind in self.kinds
        ]


def flood(order: Order, sock: socket.socket, stopped: list[bool]) -> tuple[dict[str, int], int]:
    """Send until ``stopped`` is not empty. Return the frames sent, by kind, and the number that the kernel refused."""
    sent: collections.Counter[str] = collections.Counter()
    refused = 0
    begun = time.monotonic()
    for number, (kind, data) in enumerate(itertools.cycle(order.frames())):
        if number % _BURST == 0:
            if stopped:
                break
            if number == _BURST:
                print(READY, flush=True)
            if order.rate:
                time.sleep(max(0.0, number / order.rate - (time.monotonic() - begun)))
        try:
            sock.send(data)
            sent[kind] += 1
        except OSError:  # its queue is full, or the frame larger than the link takes
            refused += 1
    return dict(sent), refused


def main(arguments: list[str]) -> int:
    path, interface = arguments
    order = Order.from_json(Path(path).read_text())
    stopped: list[bool] = []

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopped.append(True)

    signal.signal(signal.SIGTERM, stop)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sock:
        sock.bind((interface, 0))
        sent, refused = flood(order, sock, stopped)
    print(json.dumps({"sent": sent, "refused": refused}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
