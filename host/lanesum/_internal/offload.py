# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Use of UDP GSO and GRO: the kernel sends and receives several packets as one super-packet."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Literal, get_args

from lanesum.errors import ConfigurationError

Offload = Literal["auto", "on", "off"]


def check_offload(offload: str) -> None:
    """Raise ConfigurationError if ``offload`` is no ``Offload``."""
    if offload not in get_args(Offload):
        raise ConfigurationError(f"Invalid offload {offload!r}: expected one of {', '.join(get_args(Offload))}.")


def use_gso(native: ModuleType, descriptors: Iterable[int], offload: Offload, *, joined_packets: bool = False) -> bool:
    """Return True if packets may be sent as super-packets.

    With ``"auto"`` they may, unless the device of a socket could pass super-packets to a software switch, which has to
    see every packet.

    Args:
        descriptors: descriptors of bound sockets.
        offload: the user's choice.
        joined_packets: no software switch is on the path of the packets, see ``JobTicket``.
    """
    if offload == "auto":
        return joined_packets or all(native.probe_offload(descriptor)[0] for descriptor in descriptors)
    return offload == "on"


def use_gro(offload: Offload) -> bool:
    """Return True if super-packets may be received. They have passed all switches, so only ``"off"`` refuses them."""
    return offload != "off"
