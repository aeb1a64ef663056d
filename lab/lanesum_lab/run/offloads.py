# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m lanesum_lab.run.offloads IFACE ...``: switch checksum and segmentation offloads off, without ethtool.

Interfaces of this network namespace only. Offloads that a driver does not have are passed over.
"""

from __future__ import annotations

import array
import fcntl
import socket
import struct
import sys

_SIOCETHTOOL = 0x8946  # linux/sockios.h
# linux/ethtool.h: ETHTOOL_STXCSUM, SRXCSUM, SSG, STSO, SGSO, SGRO; segmentation before what it depends on.
_COMMANDS = {"tso": 0x1F, "gso": 0x24, "gro": 0x2C, "sg": 0x19, "tx": 0x17, "rx": 0x15}


def offloads_off(interface: str) -> None:
    """Switch off all offloads of an interface. Raises OSError without the interface or the permission."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        socket.if_nametoindex(interface)
        for command in _COMMANDS.values():
            value = array.array("B", struct.pack("=II", command, 0))
            address, _ = value.buffer_info()
            request = struct.pack("16sP16x", interface.encode(), address)  # struct ifreq
            try:
                fcntl.ioctl(control, _SIOCETHTOOL, request)
            except OSError as error:
                if isinstance(error, PermissionError):
                    raise


def main(interfaces: list[str]) -> int:
    for interface in interfaces:
        try:
            offloads_off(interface)
        except OSError as error:
            print(f"{interface}: {error.strerror}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
