# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the kernel is handed many packets as one (UDP GSO and GRO), to be split by it or by the device."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Literal, get_args

from lanesum.errors import ConfigurationError

Offload = Literal["auto", "on", "off"]


def check_offload(offload: str) -> None:
    """Raises ConfigurationError for what is no ``Offload``."""
    if offload not in get_args(Offload):
        raise ConfigurationError(f"offload = {offload!r} is none of {', '.join(get_args(Offload))}.")


def may_join(native: ModuleType, descriptors: Iterable[int], offload: Offload) -> bool:
    """Whether to hand packets to the kernel joined: as ``offload`` says; with ``"auto"`` where none of the sockets'
    devices lets a software switch, which has to see every packet, see them so.

    Args:
        native: the compiled module.
        descriptors: of sockets with an address.
    """
    if offload == "auto":
        return all(native.probe_offload(descriptor)[0] for descriptor in descriptors)
    return offload == "on"


def may_take_joined(offload: Offload) -> bool:
    """Whether to take packets joined from the kernel, which has them all to itself by then."""
    return offload != "off"
