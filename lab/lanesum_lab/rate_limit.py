# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Orders for ``tc`` that limit the rate at which an interface sends, by HTB."""

from __future__ import annotations

import subprocess

from lanesum.protocol.spec import ETHERNET_BYTES, ETHERNET_MTU

_DEVICE = "lo"  # of the new namespace in which ``obstacle`` tries


def htb_root(interface: str) -> str:
    """Return the order that makes a new interface ready for ``htb_rate``."""
    return f"qdisc add dev {interface} root handle 1: htb default 1"


def htb_rate(interface: str, rate_mbit: float, *, overhead: int = 0, burst: int | None = None) -> str:
    """Return the order that sets the rate, in Mbit/s.

    The quantum is one frame: with that of the default, which grows with the rate, ``tc`` warns.

    Args:
        overhead: bytes that count for every frame, beside the frame from its Ethernet header on.
        burst: bytes that leave at once after a pause; None is the default, about one frame.
    """
    return (
        f"class replace dev {interface} parent 1: classid 1:1 htb rate {rate_mbit:g}mbit "
        f"quantum {ETHERNET_MTU + ETHERNET_BYTES} overhead {overhead}{'' if burst is None else f' burst {burst}'}"
    )


def obstacle() -> str:
    """Return the reason why rates cannot be limited here; empty if they can. Needs root and network namespaces."""
    orders = f"{htb_root(_DEVICE)}\n{htb_rate(_DEVICE, 1.0)}\n"
    try:
        tried = subprocess.run(
            ["unshare", "--net", "tc", "-batch", "-"], input=orders, capture_output=True, text=True, check=False
        )
    except FileNotFoundError as error:
        return f"{error.filename} is not on PATH (apt install iproute2 util-linux)"
    if tried.returncode == 0:
        return ""
    reason = tried.stderr.strip().splitlines()[:1] or ["no reason given"]
    return f"tc cannot limit rates here ({reason[0]})"
