# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Description of the agent's own tables, with the ids and names of a Tofino agent."""

from __future__ import annotations

import json
from typing import Any

_MGID, _NODE, _PORT = 0xFF020001, 0xFF020002, 0xFF010001


def _field(number: int, name: str, kind: str, *, repeated: bool = False) -> dict[str, Any]:
    return {"id": number, "name": name, "repeated": repeated, "annotations": [], "type": {"type": kind}}


def _table(number: int, name: str, kind: str, size: int, key: dict[str, Any], *data: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": number,
        "name": name,
        "table_type": kind,
        "size": size,
        "key": [{**key, "mandatory": True, "match_type": "Exact"}],
        "data": [{"mandatory": False, "read_only": False, "singleton": one} for one in data],
        "supported_operations": [],
        "attributes": [],
    }


DESCRIPTION = json.dumps(
    {
        "schema_version": "1.0.0",
        "tables": [
            _table(
                _MGID,
                "$pre.mgid",
                "PreMgid",
                1 << 16,
                _field(1, "$MGID", "uint16"),
                _field(1, "$MULTICAST_NODE_ID", "uint32", repeated=True),
                _field(2, "$MULTICAST_NODE_L1_XID_VALID", "bool", repeated=True),
                _field(3, "$MULTICAST_NODE_L1_XID", "uint16", repeated=True),
            ),
            _table(
                _NODE,
                "$pre.node",
                "PreNode",
                1 << 16,
                _field(1, "$MULTICAST_NODE_ID", "uint32"),
                _field(1, "$MULTICAST_RID", "uint16"),
                _field(2, "$MULTICAST_LAG_ID", "uint8", repeated=True),
                _field(3, "$DEV_PORT", "uint32", repeated=True),
            ),
            _table(
                _PORT,
                "$PORT",
                "PortConfigure",
                512,
                _field(1, "$DEV_PORT", "uint32"),
                _field(1, "$SPEED", "string"),
                _field(2, "$FEC", "string"),
                _field(3, "$N_LANES", "uint32"),
                _field(4, "$PORT_ENABLE", "bool"),
            ),
        ],
    }
).encode()
