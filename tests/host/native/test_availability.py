# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Availability of the native extension: one that does not fit this version is not used."""

from __future__ import annotations

import hashlib
import re
import sys
from types import ModuleType
from typing import Any

import pytest

from lanesum._internal import native
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import VERSION
from tests.paths import ROOT


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that installs a module as the native extension for this test."""

    def put(**attributes: Any) -> ModuleType:
        package, core = ModuleType("lanesum_native"), ModuleType("lanesum_native._core", "")
        core.__file__ = "core.so"
        vars(core).update(attributes)
        package._core = core  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "lanesum_native", package)
        monkeypatch.setitem(sys.modules, "lanesum_native._core", core)
        monkeypatch.setattr(native, "_find", native._find.__wrapped__)
        monkeypatch.delenv(native.VARIABLE, raising=False)
        return core

    return put


def test_availability_of_older_extension_says_how_to_rebuild(
    install: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    core = install(PROTOCOL_VERSION=VERSION)
    for interface in ("none", "0123456789abcdef"):
        if interface != "none":
            core.INTERFACE = interface  # type: ignore[attr-defined]
        reason = (
            f"The native extension has protocol version {VERSION} and interface {interface}, "
            f"not {VERSION} and {native._INTERFACE}: "
            "rebuild it with: pip install --force-reinstall --no-deps ./host/native."
        )
        assert native.availability() == native.Availability(None, reason)
        assert caplog.messages.pop() == reason
        with monkeypatch.context() as patch:
            patch.setenv(native.VARIABLE, "required")
            with pytest.raises(ConfigurationError, match=f"LANESUM_NATIVE=required, but: {re.escape(reason)}"):
                native.availability()


def test_availability_of_other_protocol_version_is_none(install: Any) -> None:
    install(PROTOCOL_VERSION=VERSION + 1, INTERFACE=native._INTERFACE)
    assert native.availability().core is None
    assert f"has protocol version {VERSION + 1} and interface {native._INTERFACE}" in native.availability().reason


def test_availability_of_complete_extension_is_its_module(install: Any) -> None:
    core = install(PROTOCOL_VERSION=VERSION, INTERFACE=native._INTERFACE)
    assert native.availability().core is core


def test_interface_is_the_hash_of_the_declarations() -> None:
    declarations = ROOT / "host/native/lanesum_native/_core.pyi"
    expected = hashlib.sha256(declarations.read_bytes()).hexdigest()[: len(native._INTERFACE)]
    assert expected == native._INTERFACE, f"Set _INTERFACE in {native.__file__} to {expected!r}, and rebuild."
