# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The port of aggregation servers on loopback. It needs no root.

Workers send to a server's address, where the switch's UDP ports listen (see ``udp``); the server itself listens at its
*backend* address. This port has a socket with each worker's address. The server therefore sees the worker as the
sender, and its replies arrive at the switch. A port for several servers has such sockets for each of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from lanesum._internal.udp_socket import Address, open_udp_socket
from lanesum.errors import ConfigurationError
from lanesum_switch.ports.udp_flow import UdpFlow, UdpSockets


class ServerPort(UdpSockets):
    """A port for aggregation servers, with a socket per worker and server.

    Args:
        servers: addresses that workers send to.
        backends: address that the process of each of these servers listens at.
        server_mac: six bytes, the source of received frames.
        switch_mac: six bytes, their destination.
        checksums: frames have UDP checksums, and corrupted frames do not reach the server (see ``UdpFlow``).

    Raises ConfigurationError if a worker's address is in use by a socket that does not share it.
    """

    def __init__(
        self,
        servers: Sequence[Address],
        backends: Sequence[Address],
        server_mac: bytes,
        switch_mac: bytes,
        workers: Sequence[Address],
        *,
        checksums: bool = False,
    ) -> None:
        super().__init__()
        try:
            for worker, (server, backend) in itertools.product(workers, zip(servers, backends, strict=True)):
                flow = UdpFlow(server, worker, server_mac, switch_mac, checksums=checksums)
                self._add(flow, open_udp_socket(worker, peer=backend, shared=True))
        except OSError as error:
            self.close()
            raise ConfigurationError(
                f"The switch cannot send to the server from the worker's address {worker[0]}:{worker[1]}: "
                f"{error.strerror}.",
                "Stop the process that uses the address (another run?), or choose another topology address.",
            ) from error
