# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""lanesum host library: gradients summed while compressed, in a programmable switch.

``join`` takes the ticket of a worker, and ``Session`` sums arrays with it. ``lanesum.torch`` has the hook for PyTorch,
and is imported by its own name. Other names are imported at their first use, so commands start without NumPy and gRPC.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lanesum import codecs as codecs
    from lanesum.codecs import CodecError as CodecError
    from lanesum.codecs import NotFiniteError as NotFiniteError
    from lanesum.errors import ConfigurationError as ConfigurationError
    from lanesum.errors import LanesumError as LanesumError
    from lanesum.joining import DescriptionMismatchError as DescriptionMismatchError
    from lanesum.joining import NotReadyError as NotReadyError
    from lanesum.joining import join as join
    from lanesum.joining import wait_for_others as wait_for_others
    from lanesum.keep_alive import AlteredSwitchError as AlteredSwitchError
    from lanesum.keep_alive import SupersededError as SupersededError
    from lanesum.rpc.controller import ControllerError as ControllerError
    from lanesum.session import AllReduce as AllReduce
    from lanesum.session import Session as Session
    from lanesum.transport import JobTicket as JobTicket
    from lanesum.transport.errors import AggregationTimeoutError as AggregationTimeoutError
    from lanesum.transport.errors import MismatchError as MismatchError
    from lanesum.transport.errors import ResultGoneError as ResultGoneError
    from lanesum.transport.errors import SessionClosedError as SessionClosedError
    from lanesum.transport.errors import UsedTicketError as UsedTicketError
    from lanesum.transport.errors import WorkerGoneError as WorkerGoneError

# Public names, and the modules that define them.
_HOMES = {
    "AggregationTimeoutError": "lanesum.transport.errors",
    "AllReduce": "lanesum.session",
    "AlteredSwitchError": "lanesum.keep_alive",
    "CodecError": "lanesum.codecs",
    "ConfigurationError": "lanesum.errors",
    "ControllerError": "lanesum.rpc.controller",
    "DescriptionMismatchError": "lanesum.joining",
    "JobTicket": "lanesum.transport",
    "LanesumError": "lanesum.errors",
    "MismatchError": "lanesum.transport.errors",
    "NotFiniteError": "lanesum.codecs",
    "NotReadyError": "lanesum.joining",
    "ResultGoneError": "lanesum.transport.errors",
    "Session": "lanesum.session",
    "SessionClosedError": "lanesum.transport.errors",
    "SupersededError": "lanesum.keep_alive",
    "UsedTicketError": "lanesum.transport.errors",
    "WorkerGoneError": "lanesum.transport.errors",
    "codecs": "lanesum",
    "join": "lanesum.joining",
    "wait_for_others": "lanesum.joining",
}
__all__ = list(_HOMES)

if not TYPE_CHECKING:

    def __getattr__(name):
        """Import a public name at its first use. Raises AttributeError for other names."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib

        if _HOMES[name] == __name__:
            return importlib.import_module(f"{__name__}.{name}")
        value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
        return value

    def __dir__():
        """Return the public names, also before their first use."""
        return sorted({*globals(), *__all__})
