# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Screen of ``lanesum top`` in a small terminal: scroll, filter, sort, and the other parts above."""

from __future__ import annotations

import os
import pty

import pytest
from rich.console import ConsoleDimensions

from lanesum_control.cli import screen
from lanesum_control.cli.screen import Keys, Screen, Section

SIZE = ConsoleDimensions(80, 24)
JOBS = Section(
    ("job", "alive", "goodput", "lost", "left out"),
    [(f"job{n:02}", "4/4", f"{n}.0 MB/s", "-" if n % 2 else f"{n / 10:.2f}%", "-") for n in range(60)],
)
SERVERS = Section(("server", "contributions/s", "state"), [("agg-1", "5", "up"), ("agg-2", "-", "lost")])
SWITCHES = Section(("switch", "state"), [("s1", "up"), ("s2", "drained: new fans"), ("s3", "up")])
ALL = {"jobs": JOBS, "switches": SWITCHES, "servers": SERVERS, "workers": Section(("job", "worker"), [("a", "w1")])}


def lines(screen: Screen, *pressed: str) -> list[str]:
    for key in pressed:
        screen.press(key)
    return screen.render(ALL, SIZE).plain.split("\n")


def names(found: list[str]) -> list[str]:
    return [line.split()[0] for line in found if line.startswith("job") and " of " not in line][1:]


def test_sixty_jobs_and_servers_are_visible_by_scrolling() -> None:
    screen = Screen()
    first = lines(screen)
    assert len(first) == 24 and max(map(len, first)) <= 80
    assert first[:3] == [
        "switches: s2 drained: new fans; s1, s3 up",
        "servers: agg-2 lost; agg-1 up",
        "jobs 1-19 of 60",
    ]
    seen = names(first)
    for _ in range(3):
        page = lines(screen, "page down")
        assert page[1] == "servers: agg-2 lost; agg-1 up"
        seen += names(page)
    assert sorted(set(seen)) == [row[0] for row in JOBS.rows]
    assert names(lines(screen, "home"))[0] == "job00"
    assert names(lines(screen, "down", "down", "up"))[0] == "job01"
    assert names(lines(screen, "end", "down"))[-1] == "job59"


def test_filter_shows_rows_with_the_text_until_escape() -> None:
    screen = Screen()
    found = lines(screen, "/", "J", "x", "backspace", "o", "b", "5", "enter")
    assert "jobs 1-10 of 10, with 'Job5'" in found
    assert names(found) == [f"job5{n}" for n in range(10)]
    assert "jobs 1-19 of 60" in lines(screen, "escape")
    assert "jobs 0-0 of 0, with 'zz'" in lines(screen, "/", "z", "z", "enter")


def test_sort_puts_large_numbers_first_and_dashes_last() -> None:
    screen = Screen()
    lines(screen)
    found = lines(screen, "o", "o", "o")
    assert "jobs 1-19 of 60, by goodput" in found
    assert names(found)[:2] == ["job59", "job58"]
    assert names(lines(screen, "r"))[:2] == ["job00", "job01"]
    by_loss = lines(screen, "r", "o")
    assert names(by_loss)[:2] == ["job58", "job56"]
    assert names(lines(screen, "end"))[-1] == "job59"


@pytest.mark.parametrize("keys", [("o", "o", "o"), ("r",), ("/", "j", "enter")])
def test_other_order_or_filter_begins_above(keys: tuple[str, ...]) -> None:
    screen = Screen()
    lines(screen, "page down")
    assert any(line.startswith("jobs 1-19 of 60") for line in lines(screen, *keys))


def test_tab_shows_other_tables_and_arrows_other_columns() -> None:
    screen = Screen()
    lines(screen)
    assert lines(screen, "\t")[:3] == ["jobs: 60", "servers: agg-2 lost; agg-1 up", "switches 1-3 of 3"]
    lines(screen, "\t", "\t")
    assert (screen.table, lines(screen, "\t")[2]) == ("workers", "jobs 1-19 of 60")
    assert lines(screen, "right")[3].split()[:2] == ["job", "goodput"]
    assert lines(screen, "left")[3].split()[:2] == ["job", "alive"]


def test_message_replaces_keys_and_q_closes() -> None:
    screen = Screen(message="No controller answers.")
    assert lines(screen)[-1] == "No controller answers."
    screen.press("q")
    assert screen.is_closed


def test_keys_of_a_terminal_have_names(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs) as terminal:
        monkeypatch.setattr(screen.sys, "stdin", terminal)
        with Keys() as found:
            for text, name in ((b"\x1b[B", "down"), (b"\x1b[6~", "page down"), (b"q", "q"), (b"\x1b", "escape")):
                os.write(ours, text)
                assert found.read(60.0) == name
            assert found.read(0.0) == ""
    os.close(ours)
