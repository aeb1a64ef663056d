# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m lanesum_lab.attack.flood ORDER.json INTERFACE``: an attacker as a process. Needs CAP_NET_RAW.

Sends the frames of its order over and over until it gets SIGTERM, then prints as JSON how many of each kind it sent.
For networks that one has made for the purpose; see ``lanesum_lab.attack.kinds`` for what it sends.
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
from lanesum_lab.attack.attacker import Attacker, Host, Loot
from lanesum_lab.attack.kinds import frame

READY = "flooding"  # said once the first frames are out
_ROUNDS = 40  # frames of each kind, made before the first one is sent
_BURST = 64


@dataclass(frozen=True, slots=True)
class Order:
    """What an attacker process shall do.

    Attributes:
        attacker: who it is, and what it knows.
        kinds: of attack, in turn.
        rate: frames a second; 0 means as fast as it can.
        seed: of the dice.
    """

    attacker: Attacker
    kinds: tuple[str, ...]
    rate: float = 0.0
    seed: int = 0

    def to_json(self) -> str:
        loot, own = self.attacker.loot, self.attacker.own
        return json.dumps(
            {
                "tickets": [ticket.to_json() for ticket in loot.tickets],
                "macs": [mac.hex() for mac in loot.macs],
                "server_mac": loot.server_mac.hex(),
                "gateway_mac": loot.gateway_mac.hex(),
                "frames": [one.hex() for one in loot.frames],
                "own": [own.mac.hex(), own.ip, own.udp_port],
                "ticket": None if self.attacker.ticket is None else self.attacker.ticket.to_json(),
                "kinds": self.kinds,
                "rate": self.rate,
                "seed": self.seed,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Order:
        """Raises KeyError or ValueError for what ``to_json`` did not write."""
        fields = json.loads(text)
        loot = Loot(
            tuple(map(JobTicket.from_json, fields["tickets"])),
            tuple(map(bytes.fromhex, fields["macs"])),
            bytes.fromhex(fields["server_mac"]),
            bytes.fromhex(fields["gateway_mac"]),
            [bytes.fromhex(one) for one in fields["frames"]],
        )
        mac, ip, udp_port = fields["own"]
        ticket = fields["ticket"]
        attacker = Attacker(
            loot, Host(bytes.fromhex(mac), ip, udp_port), None if ticket is None else JobTicket.from_json(ticket)
        )
        return cls(attacker, tuple(fields["kinds"]), fields["rate"], fields["seed"])

    def frames(self) -> list[tuple[str, bytes]]:
        """All frames of one turn, with their kinds."""
        return [
            (kind, frame(self.attacker, kind, self.seed + number)) for number in range(_ROUNDS) for kind in self.kinds
        ]


def flood(order: Order, sock: socket.socket, stopped: list[bool]) -> tuple[dict[str, int], int]:
    """Send until ``stopped`` is not empty. Returns what was sent, by kind, and how much the kernel did not take."""
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
