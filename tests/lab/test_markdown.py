# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tables and generated blocks of pages."""

from __future__ import annotations

import pytest

from lanesum_lab.markdown import markdown_table, replace_generated


def test_generated_block_is_replaced_between_its_marks() -> None:
    text = "a\n<!-- generated: x -->\nold\n<!-- end: x -->\nb\n"
    table = markdown_table(("one", "two"), [("1", "2")])
    expected = "| one | two |\n|---|---|\n| 1 | 2 |"
    assert replace_generated(text, "x", table) == f"a\n<!-- generated: x -->\n{expected}\n<!-- end: x -->\nb\n"
    with pytest.raises(ValueError, match="no generated block 'y'"):
        replace_generated(text, "y", "")
