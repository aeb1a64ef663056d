# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Logs as text and as JSON."""

from __future__ import annotations

import datetime
import json
import logging
from collections.abc import Iterator

import pytest

from lanesum import logs
from lanesum.errors import ConfigurationError
from lanesum.rpc.caller import Caller, CallerRole
from lanesum_control.state.events import EventLog, log_event
from lanesum_control.state.store import Store

LOGGER = logging.getLogger("lanesum.test")


@pytest.fixture(autouse=True)
def loggers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restore the loggers of lanesum afterwards."""
    monkeypatch.delenv("LANESUM_JOB", raising=False)
    monkeypatch.delenv("RANK", raising=False)
    known = [logging.getLogger(name) for name in logs.LOGGERS]
    before = [(logger.handlers, logger.level) for logger in known]
    yield
    for logger, (handlers, level) in zip(known, before, strict=True):
        logger.handlers = handlers
        logger.setLevel(level)


def test_json_line_has_time_job_worker_and_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LANESUM_JOB", "train")
    monkeypatch.setenv("RANK", "3")
    logs.set_up("text")
    logs.set_up("json")  # replaces the first
    LOGGER.debug("not shown")
    try:
        raise ValueError("wrong\nvalue")
    except ValueError:
        LOGGER.warning("Round %d failed", 7, exc_info=True, extra={"fields": {"worker": "4"}})
    (line,) = capsys.readouterr().err.splitlines()
    found = json.loads(line)
    assert (
        abs(datetime.datetime.fromisoformat(found.pop("time")).timestamp() - datetime.datetime.now().timestamp()) < 60
    )
    assert found.pop("error").endswith("ValueError: wrong\nvalue")
    expected = {
        "level": "warning",
        "logger": "lanesum.test",
        "message": "Round 7 failed",
        "job": "train",
        "worker": "4",
    }
    assert found == expected


def test_text_line_has_time_job_and_worker(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("text")
    LOGGER.info("A round ends.")
    monkeypatch.setenv("LANESUM_JOB", "train")
    LOGGER.error("A round failed.")
    first, second = capsys.readouterr().err.splitlines()
    assert first[10] == "T" and first[23:] == "Z info lanesum.test A round ends."
    assert second.endswith("Z error lanesum.test A round failed. (job train)")


def test_event_in_the_log_has_its_caller(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("json")
    with Store() as store:
        EventLog(store, listener=log_event).add(
            "train", "removed", Caller("alice", CallerRole.TENANT, "ipv4:10.0.0.1:7")
        )
    found = json.loads(capsys.readouterr().err)
    assert (found["message"], found["whom"], found["actor"], found["number"]) == ("removed", "train", "alice", 1)


def test_unknown_format_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="Invalid log format 'xml': expected one of text, json"):
        logs.set_up("xml")
