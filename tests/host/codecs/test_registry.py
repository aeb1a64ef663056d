# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Registry of codecs: names, factories and their parameters."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lanesum import codecs
from lanesum.codecs import THC, FixedPoint, registry
from lanesum.errors import ConfigurationError


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registrations of a test end with it."""
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))


def test_register_new_name_makes_codec_available() -> None:
    codecs.register("fixed-small", FixedPoint, preset={"block": 8})
    assert "fixed-small" in codecs.names()
    built = codecs.get("fixed-small", workers=3)
    assert isinstance(built, FixedPoint) and (built.workers, built.block) == (3, 8)
    overridden = codecs.get("fixed-small", workers=3, block=16)
    assert isinstance(overridden, FixedPoint) and overridden.block == 16


@pytest.mark.parametrize("name", ["fixed", "thc"])
def test_register_taken_name_is_refused(name: str) -> None:
    before = codecs.get(name, workers=2)
    with pytest.raises(ConfigurationError, match=f"'{name}' is already registered"):
        codecs.register(name, THC)
    assert type(codecs.get(name, workers=2)) is type(before)


@pytest.mark.parametrize("name", ["", "Fixed", "my codec", "-a", "a-", "a--b", "1a", "a_b", "a\n", 7, None])
def test_register_invalid_name_is_refused(name: Any) -> None:
    before = codecs.names()
    with pytest.raises(ConfigurationError, match="Invalid codec name"):
        codecs.register(name, FixedPoint)
    assert codecs.names() == before


@pytest.mark.parametrize(
    ("factory", "options"),
    [
        (lambda block: None, {}),
        (FixedPoint, {"preset": {"blok": 8}}),
        (FixedPoint, {"optional_lookup": True}),
    ],
)
def test_register_factory_without_parameter_is_refused(factory: Any, options: dict[str, Any]) -> None:
    with pytest.raises(
        ConfigurationError,
        match=r"The factory of codec 'own' has no parameter '(workers|blok|lookup)'\. Its parameters: ",
    ):
        codecs.register("own", factory, **options)
    assert "own" not in codecs.names()


def test_get_unknown_name_lists_known_ones() -> None:
    with pytest.raises(ConfigurationError, match=r"no codec 'zip'.*fixed.*thc"):
        codecs.get("zip", workers=4)
    with pytest.raises(ConfigurationError, match=r"no codec 'zip'.*fixed.*thc"):
        codecs.for_job("zip", workers=4, lookup=True)


def test_get_unknown_parameter_lists_known_ones() -> None:
    with pytest.raises(
        ConfigurationError,
        match=r"Codec 'fixed' has no parameter 'blok'\. Known parameters: block, gathered, power_of_two",
    ):
        codecs.get("fixed", workers=4, blok=64)


@pytest.mark.parametrize(
    "spec", ["thc error=0.02 exponent=1", {"name": "thc", "error": 0.02, "exponent": 1}], ids=["text", "mapping"]
)
def test_spec_with_parameters_builds_same_codec(spec: Any) -> None:
    expected = codecs.get("thc", workers=3, error=0.02, exponent=1).describe()
    assert codecs.get(spec, workers=3).describe() == expected
    assert codecs.for_job(spec, workers=3, lookup=True).describe() == expected
    assert codecs.get(codecs.spelled(spec), workers=3).describe() == expected


def test_parse_values_have_python_types() -> None:
    name, values = codecs.parse("own a=1 b=0.5 c=true d=none e=best f=1e-3")
    assert (name, values) == ("own", {"a": 1, "b": 0.5, "c": True, "d": None, "e": "best", "f": 0.001})
    assert [type(one) for one in values.values()] == [int, float, bool, type(None), str, float]
    assert codecs.parse(codecs.spelled({"name": name, **values})) == (name, values)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("", "There is no codec ''"),
        ("thc error", "Invalid codec 'thc error': expected a name, then KEY=VALUE"),
        ("thc error=", "Invalid codec 'thc error=': expected"),
        ("thc error=1 error=2", "Invalid codec 'thc error=1 error=2': expected"),
        ("thc error=9", "error=9"),
        ("thc error=x", "Codec 'thc' cannot be built with error='x'"),
        ("thc workers=2", "Codec 'thc' has no parameter 'workers'"),
        ({"error": 1}, "Invalid codec {'error': 1}: expected"),
        ({"name": "thc", 1: 1}, "Invalid codec {'name': 'thc', 1: 1}: expected"),
        (7, "Invalid codec 7: expected"),
    ],
)
def test_get_wrong_spec_is_refused(spec: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        codecs.get(spec, workers=3)


def test_spelled_value_without_text_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="Parameter rules of codec 'policy' is list, which has no text"):
        codecs.spelled({"name": "policy", "rules": []})


def test_for_job_without_lookup_builds_codec_without_table() -> None:
    assert codecs.for_job("thc", workers=4, lookup=True).code_table is not None
    assert codecs.for_job("thc", workers=4, lookup=False).code_table is None
    assert codecs.for_job("thc-paper", workers=4, lookup=False).code_table is not None


@pytest.mark.parametrize("name", codecs.names())
def test_registered_codec_has_its_own_name(name: str) -> None:
    codec = codecs.get(name, workers=2)
    assert isinstance(codec, codecs.Codec) and codec.name == name and codec.workers >= 2
