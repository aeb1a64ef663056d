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
    for sources in ("none", "0123456789abcdef"):
        if sources != "none":
            core.SOURCES = sources  # type: ignore[attr-defined]
        reason = (
            f"The native extension has protocol version {VERSION} and sources {sources}, "
            f"not {VERSION} and {native._SOURCES}: "
            "rebuild it with: pip install --force-reinstall --no-deps ./host/native."
        )
        assert native.availability() == native.Availability(None, reason)
        assert caplog.messages.pop() == reason
        with monkeypatch.context() as patch:
            patch.setenv(native.VARIABLE, "required")
            with pytest.raises(ConfigurationError, match=f"LANESUM_NATIVE=required, but: {re.escape(reason)}"):
                native.availability()


def test_availability_of_other_protocol_version_is_none(install: Any) -> None:
    install(PROTOCOL_VERSION=VERSION + 1, SOURCES=native._SOURCES)
    assert native.availability().core is None
    assert f"has protocol version {VERSION + 1} and sources {native._SOURCES}" in native.availability().reason


def test_availability_of_complete_extension_is_its_module(install: Any) -> None:
    core = install(PROTOCOL_VERSION=VERSION, SOURCES=native._SOURCES)
    assert native.availability().core is core


def test_sources_are_hashed_as_by_the_build() -> None:
    folder = ROOT / "host" / "native"
    paths = [*folder.glob("src/**/*.[chi]??"), *folder.glob("lanesum_native/*.pyi")]
    names = sorted(str(path.relative_to(folder)) for path in paths)
    lines = [f"{name} {hashlib.sha256((folder / name).read_bytes()).hexdigest()}\n" for name in names]
    expected = hashlib.sha256("".join(lines).encode()).hexdigest()[: len(native._SOURCES)]
    assert len(names) > 100 and expected == native._SOURCES, f"Set _SOURCES in {native.__file__} to {expected!r}."
