# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Canonical status codes, as an exception inside the server and as gRPC status outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import grpc

from lanesum_fabric.protobufs import code_pb2, status_pb2
from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.api import SwitchError

T = TypeVar("T")

#: Canonical codes by name: ``google.rpc.Code``.
Code: Any = code_pb2

# error space of simple_switch_grpc; clients may select on it
ERROR_SPACE = "ALL-sswitch-p4org"

DETAILS_KEY = "grpc-status-details-bin"
# gRPC clients refuse answers with more than 8 KiB of metadata.
MAX_DETAILS_BYTES = 7 << 10
_MAX_MESSAGE_BYTES = 1 << 10
_REFUSED = "Updates were refused"
# Bytes that a text adds to the details, beyond its own: a tag and longer lengths.
_TEXT_OVERHEAD = 5

_GRPC_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


class StatusError(Exception):
    """A request, or one update of it, that ends in a canonical code other than OK.

    ``details`` is the binary ``google.rpc.Status`` for the trailing metadata; None to derive it from code and message.
    """

    def __init__(self, code: int, message: str, details: bytes | None = None) -> None:
        # Names in it are those of a client's P4Info and program.
        message = _cut(message, _MAX_MESSAGE_BYTES)
        super().__init__(f"{code_pb2.Code.Name(code)}: {message}")
        self.code = code
        self.message = message
        self.details = details

    @property
    def grpc_code(self) -> grpc.StatusCode:
        return _GRPC_CODES[self.code]

    def packed(self) -> bytes:
        """Return the binary ``google.rpc.Status`` of this error."""
        if self.details is not None:
            return self.details
        serialized: bytes = status_pb2.Status(code=self.code, message=self.message).SerializeToString()
        return serialized


def _cut(text: str, size: int) -> str:
    """Return both ends of a text that has more than ``size`` bytes; the next step is at its end."""
    data = text.encode(errors="replace")
    if len(data) <= size:
        return data.decode()
    middle = b" ... "[:size]
    kept = (size - len(middle)) // 2
    return b"".join((data[:kept], middle, data[len(data) - kept :])).decode(errors="ignore")


def invalid(message: str) -> StatusError:
    return StatusError(Code.INVALID_ARGUMENT, message)


def invalid_id(p4_id: int, what: str) -> StatusError:
    return StatusError(Code.INVALID_ARGUMENT, f"{p4_id:#x} is not the id of {what} of this program")


def invalid_type(kind: int) -> StatusError:
    return StatusError(Code.INVALID_ARGUMENT, f"Update type {kind} is not INSERT, MODIFY or DELETE")


def by_type(kind: int, insert: T, modify: T, delete: T) -> T:
    """Return the argument for the type of an update. Raises StatusError INVALID_ARGUMENT for any other type."""
    chosen = {p4rt.Update.INSERT: insert, p4rt.Update.MODIFY: modify, p4rt.Update.DELETE: delete}.get(kind)
    if chosen is None:
        raise invalid_type(kind)
    return chosen


@contextmanager
def on_target(action: str) -> Iterator[None]:
    """Convert refusals of the data plane to UNKNOWN.

    PI has no mapping from target errors to canonical codes, so in simple_switch_grpc a full table, a const table and a
    duplicate found by the target all read UNKNOWN. The message has the reason.
    """
    try:
        yield
    except SwitchError as error:
        raise StatusError(Code.UNKNOWN, f"The switch refused {action}: {error}") from error


def pack_write_errors(
    errors: Sequence[StatusError | None], kind: Any = p4rt.Error, max_named: int | None = None, **fields: str
) -> StatusError:
    """Return the status of a Write with refused updates (P4Runtime specification, section 12.3).

    Its details are one ``kind`` per update in the order of the request, the applied ones with canonical code OK.
    Texts are cut or left out if clients would refuse the metadata, and all details if codes alone are too much.

    Args:
        errors: the error of each update; None for an applied one.
        kind: class of the messages.
        max_named: maximum number of refused updates in the details, which end at the last; None for all updates.
        fields: further fields of each refused update.
    """
    refused = [(position, error) for position, error in enumerate(errors) if error is not None]
    named = refused[:max_named]
    shown = errors if max_named is None else errors[: named[-1][0] + 1]
    free = MAX_DETAILS_BYTES - len(_write_details(shown, kind, fields, 0))
    if free < 0:
        counts = f"{len(refused)} of {len(errors)} updates were refused, too many to name: write fewer at once"
        return StatusError(Code.UNKNOWN, f"{counts}. The first: {refused[0][1].message}")
    room = max(0, free // len(named) - _TEXT_OVERHEAD)
    return StatusError(Code.UNKNOWN, _REFUSED, _write_details(shown, kind, fields, room))


def _write_details(errors: Iterable[StatusError | None], kind: Any, fields: Mapping[str, str], room: int) -> bytes:
    status = status_pb2.Status(code=Code.UNKNOWN, message=_REFUSED)
    for error in errors:
        packed = kind()
        if error is not None:
            packed = kind(canonical_code=error.code, message=_cut(error.message, room), **fields)
        status.details.add().Pack(packed)
    serialized: bytes = status.SerializeToString()
    return serialized
