# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Action calls between P4Runtime messages and the switch."""

from __future__ import annotations

from typing import Any

from lanesum_switch.api import ActionCall
from lanesum_switch.p4runtime.p4info import P4InfoIndex
from lanesum_switch.p4runtime.status import INTERNAL, StatusError, invalid, invalid_id
from lanesum_switch.p4runtime.values import decode, encode


def check_action_id(index: P4InfoIndex, action_id: int) -> None:
    """Check an action id. Raises StatusError INVALID_ARGUMENT if the program has no such action."""
    if action_id not in index.actions:
        raise invalid_id(action_id, "an action")


def parse_action(index: P4InfoIndex, message: Any) -> ActionCall:
    """Return the call that a ``p4.v1.Action`` with a known action id describes.

    Raises:
        StatusError: INVALID_ARGUMENT for a wrong number of parameters, an unknown one or a value that does not fit.
    """
    action = index.actions[message.action_id]
    if len(message.params) != len(action.params):
        raise invalid(f"Action {action.name} has {len(action.params)} parameters, not {len(message.params)}")
    widths = {param.id: param.bits for param in action.params}
    values: dict[int, int] = {}
    for param in message.params:
        if param.param_id not in widths:
            raise invalid(f"Action {action.name} has no parameter with id {param.param_id}, only {[*widths]}")
        values[param.param_id] = decode(param.value, widths[param.param_id])
    # PI accepts a repeated id in place of a missing one, which stays zero.
    return ActionCall(action.name, tuple(values.get(param.id, 0) for param in action.params))


def write_action(index: P4InfoIndex, call: ActionCall, message: Any) -> None:
    """Fill a ``p4.v1.Action`` for a read.

    Raises:
        StatusError: INTERNAL if the switch runs an action that the P4Info does not name.
    """
    action = index.actions_by_name.get(call.action)
    if action is None:
        raise StatusError(INTERNAL, f"The switch reports action {call.action}, which the P4Info lacks")
    message.action_id = action.id
    for param, value in zip(action.params, call.args, strict=True):
        message.params.add(param_id=param.id, value=encode(value))
