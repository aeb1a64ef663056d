# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Availability of the native extension: one that does not fit this version is not used."""

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
    """Return a function that installs a module as the native extension for this test."""

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


def test_availability_of_older_extension_names_what_is_missing(install: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    *present, one, other = native._REQUIRED
    install(PROTOCOL_VERSION=VERSION, **dict.fromkeys(present, object))
    found = native.availability()
    assert found.core is None
    assert found.reason == f"The native extension has no {one} and no {other}: install it again."
    monkeypatch.setenv(native.VARIABLE, "required")
    with pytest.raises(ConfigurationError, match=r"LANESUM_NATIVE=required, but: The native extension has no"):
        native.availability()


def test_availability_of_other_protocol_version_is_none(install: Any) -> None:
    install(PROTOCOL_VERSION=VERSION + 1)
    assert native.availability().core is None
    assert f"has protocol version {VERSION + 1}, not {VERSION}" in native.availability().reason


def test_availability_of_complete_extension_is_its_module(install: Any) -> None:
    core = install(PROTOCOL_VERSION=VERSION, **dict.fromkeys(native._REQUIRED, object))
    assert native.availability().core is core
