# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Availability of the native extension, and its busy-poll limit.

Transport and server exist twice: in Python as the readable reference, and in C++ (``host/native``) for speed. Both
behave alike and pass the same tests. The native one is used if it is installed, unless the environment variable
LANESUM_NATIVE is ``off``. With ``required``, a missing extension is an error.
"""

from __future__ import annotations

import functools
import logging
import os
from dataclasses import dataclass
from types import ModuleType

from lanesum import environment
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import VERSION

VARIABLE = environment.NATIVE
_CHOICES = ("auto", "off", "required")
# About as long as the wake-up of a thread. Other threads get the processor between two polls.
DEFAULT_SPIN_US = 30
# A wake-up takes tens of microseconds, so longer polling gains nothing.
MAX_SPIN_US = 1000
# Beginning of the SHA-256 of the hashes of host/native's sources. The build puts that of its own ones into SOURCES.
_SOURCES = "32192dd636309670"
_REBUILD = "rebuild it with: pip install --force-reinstall --no-deps ./host/native"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Availability:
    """``core``: the native module, None to use Python; ``reason``: the reason, as a sentence."""

    core: ModuleType | None
    reason: str


@functools.cache
def _find() -> Availability:
    try:
        from lanesum_native import _core
    except ModuleNotFoundError:
        return Availability(
            None, "The native extension is not installed (needs g++ and python3-dev: pip install ./host/native)."
        )
    except ImportError as error:
        return Availability(None, f"The native extension cannot be loaded: {error}.")
    built = (_core.PROTOCOL_VERSION, getattr(_core, "SOURCES", "none"))
    if built != (VERSION, _SOURCES):
        reason = f"The native extension has protocol version {built[0]} and sources {built[1]}, " + (
            f"not {VERSION} and {_SOURCES}: {_REBUILD}."
        )
        _log.warning("%s", reason)
        return Availability(None, reason)
    return Availability(_core, f"The native extension is installed ({_core.__file__}).")


def availability() -> Availability:
    """Return the native module to use, and the reason.

    Raises ConfigurationError: LANESUM_NATIVE has an unknown value, or requires an extension that is not available.
    """
    choice = os.environ.get(VARIABLE, "auto")
    if choice not in _CHOICES:
        raise ConfigurationError(f"Invalid {VARIABLE}={choice!r}: expected one of {', '.join(_CHOICES)}.")
    if choice == "off":
        return Availability(None, f"{VARIABLE}=off.")
    found = _find()
    if choice == "required" and found.core is None:
        raise ConfigurationError(f"{VARIABLE}=required, but: {found.reason}")
    return found


def max_spin_s() -> float:
    """Return the time to poll for packets before a thread sleeps, in seconds: LANESUM_SPIN, which is in microseconds.

    Raises ConfigurationError: LANESUM_SPIN is no integer from 0 to ``MAX_SPIN_US``.
    """
    text = os.environ.get(environment.SPIN, str(DEFAULT_SPIN_US))
    if not (text.isascii() and text.isdigit() and int(text) <= MAX_SPIN_US):
        raise ConfigurationError(
            f"Invalid {environment.SPIN}={text!r}: expected an integer from 0 to {MAX_SPIN_US} (µs)."
        )
    return int(text) / 1e6
