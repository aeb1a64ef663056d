# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the compiled part of lanesum is there and used.

Transport and server exist twice: in Python, to be read, and in C++ (``host/native``), to be fast. Both behave alike and
pass the same tests. The compiled one is used where it is installed, unless ``LANESUM_NATIVE`` in the environment says
``off``; ``required`` makes it an error when it is not there.
"""

from __future__ import annotations

import functools
import operator
import os
from dataclasses import dataclass
from types import ModuleType

from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import VERSION

VARIABLE = "LANESUM_NATIVE"
_CHOICES = ("auto", "off", "required")
# The latest of what the rest of lanesum asks of it: an installation of an earlier state of lanesum lacks some.
_LATEST = (
    "LATENCY_BUCKETS",
    "ServerPath",
    "UdpRounds.gather",
    "BlockKernels",
    "UdpServer",
    "PeelingOrder",
    "CodecKernels.largest",
    "make_words",
    "CodecKernels.sum_rows",
    "KERNEL_ARGUMENTS",
)


@dataclass(frozen=True, slots=True)
class Availability:
    """``core``: the compiled module, None when Python is to be used. ``reason``: why, in a sentence."""

    core: ModuleType | None
    reason: str


def _has(core: ModuleType, name: str) -> bool:
    try:
        operator.attrgetter(name)(core)
    except AttributeError:
        return False
    return True


@functools.cache
def _find() -> Availability:
    try:
        from lanesum_native import _core
    except ModuleNotFoundError:
        return Availability(
            None, "The compiled part is not installed (needs a C++ compiler: pip install ./host/native)."
        )
    except ImportError as error:
        return Availability(None, f"The compiled part cannot be loaded: {error}.")
    if _core.PROTOCOL_VERSION != VERSION:
        spoken = _core.PROTOCOL_VERSION
        return Availability(
            None, f"The compiled part speaks protocol version {spoken}, not {VERSION}: install it anew."
        )
    missing = [name for name in _LATEST if not _has(_core, name)]
    if missing:
        return Availability(None, f"The compiled part has no {' and no '.join(missing)}: install it anew.")
    return Availability(_core, f"The compiled part is installed ({_core.__file__}).")


def availability() -> Availability:
    """Whether to use the compiled part.

    Raises ConfigurationError when the environment requires it and it is not there, or says something unknown.
    """
    choice = os.environ.get(VARIABLE, "auto")
    if choice not in _CHOICES:
        raise ConfigurationError(f"{VARIABLE}={choice} is none of {', '.join(_CHOICES)}.")
    if choice == "off":
        return Availability(None, f"{VARIABLE}=off.")
    found = _find()
    if choice == "required" and found.core is None:
        raise ConfigurationError(f"{VARIABLE}=required, but: {found.reason}")
    return found
