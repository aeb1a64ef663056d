# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Namespaces with veth pairs."""

from __future__ import annotations

import os

import pytest

from lanesum.errors import MissingToolError
from lanesum_lab.veth import veth_namespace


def test_namespace_without_root_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    message = "Cannot make a network namespace: network namespaces need root"
    with pytest.raises(MissingToolError, match=message), veth_namespace("lanesum-test", [1]):
        pass
