# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled programs: the cookie by which a switch shows the program that it runs."""

from __future__ import annotations

from pathlib import Path

from lanesum_fabric.program.pipelines import CompiledPipeline


def test_cookie_tells_programs_with_another_p4info_apart(tmp_path: Path) -> None:
    cookies = set()
    for number, text in enumerate(("tables {}", "actions {}", "tables {}")):
        path = tmp_path / f"{number}.p4info.txtpb"
        path.write_text(text)
        cookies.add(CompiledPipeline(64, tmp_path / "program.json", path, contents=b"program").cookie)
    assert len(cookies) == 2
