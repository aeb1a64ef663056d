# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A compiled part that does not fit is told from one that does, before anybody uses it."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from lanesum._internal import native
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import VERSION


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a module the installed one, until the test is over."""

    def put(**attributes: Any) -> ModuleType:
        package, core = ModuleType("lanesum_native"), ModuleType("lanesum_native._core", "")
        core.__file__ = "core.so"
        for name, value in attributes.items():
            owner, _, attribute = name.rpartition(".")
            setattr(vars(core).setdefault(owner, SimpleNamespace()) if owner else core, attribute, value)
        package._core = core  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "lanesum_native", package)
        monkeypatch.setitem(sys.modules, "lanesum_native._core", core)
        monkeypatch.setattr(native, "_find", native._find.__wrapped__)
        monkeypatch.delenv(native.VARIABLE, raising=False)
        return core

    return put


def test_one_of_an_earlier_lanesum_is_not_used_and_says_what_it_lacks(
    install: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    *there, one, other = native._LATEST
    install(PROTOCOL_VERSION=VERSION, **dict.fromkeys(there, object))
    found = native.availability()
    assert found.core is None
    assert found.reason == f"The compiled part has no {one} and no {other}: install it anew."
    monkeypatch.setenv(native.VARIABLE, "required")
    with pytest.raises(ConfigurationError, match=r"LANESUM_NATIVE=required, but: The compiled part has no"):
        native.availability()


def test_one_of_another_protocol_is_not_used(install: Any) -> None:
    install(PROTOCOL_VERSION=VERSION + 1)
    assert native.availability().core is None
    assert f"speaks protocol version {VERSION + 1}, not {VERSION}" in native.availability().reason


def test_one_that_has_everything_is_used(install: Any) -> None:
    core = install(PROTOCOL_VERSION=VERSION, **dict.fromkeys(native._LATEST, object))
    assert native.availability().core is core
