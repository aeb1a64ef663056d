# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Process with an embedded switch that has a planted difference: ``python -m tests.p4c_samples.planted_switch NAME``.

Lines of its input are ``start ADDRESS`` for a new switch, which serves P4Runtime there, ``stop``, and ``PORT FRAME``.
The answer to each is one line; that to a packet has the packets that leave.
"""

from __future__ import annotations

import contextlib
import sys

from lanesum_switch import EmbeddedSwitch, P4RuntimeServer
from tests.p4c_samples.comparison import Embedded
from tests.p4c_samples.differences import DIFFERENCES, plant
from tests.softswitch.p4runtime.client import Client


def main(name: str) -> None:
    """Plant the difference, and answer until the input ends. Raises RuntimeError if it cannot be planted."""
    plant(next(one for one in DIFFERENCES if one.name == name))
    with contextlib.ExitStack() as stack:
        switch: Embedded | None = None
        for line in sys.stdin:
            command, _, rest = line.strip().partition(" ")
            answer = ""
            if command == "start":
                program = EmbeddedSwitch()
                stack.enter_context(P4RuntimeServer(program, rest, device_id=1))
                switch = Embedded(program, stack.enter_context(contextlib.closing(Client(rest))))
            elif command == "stop":
                stack.close()
            else:
                assert switch is not None, "packets follow a start"
                answer = " ".join(
                    f"{port}:{data.hex()}" for port, data in switch.exchange(int(command), bytes.fromhex(rest))
                )
            print(answer, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
