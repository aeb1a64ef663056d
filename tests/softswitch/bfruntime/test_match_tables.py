# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Key fields that an entry leaves out."""

from __future__ import annotations

import pytest

from lanesum_fabric.bfruntime.description import Field
from lanesum_switch.api import Match
from lanesum_switch.bfruntime.match_tables import _match
from lanesum_switch.p4runtime.status import StatusError


def test_field_that_is_left_out_matches_all_values() -> None:
    assert _match(Field(1, "port", 9, "range"), None) == Match(0, 511)
    assert _match(Field(1, "port", 9, "ternary"), None) == _match(Field(1, "port", 9, "lpm"), None) == Match(0, 0)
    with pytest.raises(StatusError, match="The key lacks field port"):
        _match(Field(1, "port", 9, "exact"), None)
