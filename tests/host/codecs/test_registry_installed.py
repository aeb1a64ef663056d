# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Codecs of other packages, found by their entry points."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lanesum import codecs
from lanesum.codecs import registry
from lanesum.errors import ConfigurationError


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Yield a folder of modules, of which ``other`` is an entry point; the registry is restored at the end."""
    points = [importlib.metadata.EntryPoint("other", "other_codecs", registry.GROUP)]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: points)
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    monkeypatch.syspath_prepend(str(tmp_path))
    registry._load_installed.cache_clear()
    yield tmp_path
    registry._load_installed.cache_clear()
    sys.modules.pop("other_codecs", None)


def test_get_codec_of_another_package_imports_it(installed: Path) -> None:
    source = "from lanesum import codecs\ncodecs.register('other', codecs.FixedPoint)\n"
    (installed / "other_codecs.py").write_text(source)
    assert codecs.get("other", workers=2).name == "fixed"
    assert "other" in codecs.names()


def test_names_with_broken_package_warns(installed: Path) -> None:
    (installed / "other_codecs.py").write_text("import no_such_module\n")
    with pytest.warns(UserWarning, match=r"The codecs of other_codecs cannot be loaded: No module named"):
        assert "thc" in codecs.names()
    with pytest.raises(ConfigurationError, match="There is no codec 'other'"):
        codecs.get("other", workers=2)
