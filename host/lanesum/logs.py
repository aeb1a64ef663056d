# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Logs of a process on standard error, as text or as JSON, with time, job and worker."""

from __future__ import annotations

import json
import logging
import os
import time
from typing import Any

from lanesum import environment
from lanesum.errors import ConfigurationError

FORMATS = ("text", "json")
#: Loggers of lanesum's packages.
LOGGERS = ("lanesum", "lanesum_fabric", "lanesum_control", "lanesum_switch")


class LogFormatter(logging.Formatter):
    """One line for each record; ``as_json``: as a JSON object. The argument ``extra={"fields": {...}}`` adds fields.

    Fields: ``time`` (UTC, ISO 8601), ``level``, ``logger``, ``message``, ``job`` and ``worker`` as LANESUM_JOB and RANK
    have them, and ``error`` with the traceback of an exception.
    """

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        fields: dict[str, Any] = {"time": f"{seconds}.{int(record.msecs):03}Z", "level": record.levelname.lower()}
        fields |= {"logger": record.name, "message": record.getMessage()}
        place = {"job": os.environ.get(environment.JOB), "worker": os.environ.get(environment.RANK)}
        place = {name: value for name, value in place.items() if value} | getattr(record, "fields", {})
        error = {"error": self.formatException(record.exc_info)} if record.exc_info else {}
        if self._as_json:
            return json.dumps({**fields, **place, **error})
        named = f" ({', '.join(f'{name} {value}' for name, value in place.items())})" if place else ""
        return "\n".join([" ".join(fields.values()) + named, *error.values()])


def set_up(kind: str) -> None:
    """Write the records of lanesum's loggers, from level INFO on, to standard error as ``text`` or ``json``.

    Raises ConfigurationError for another ``kind``.
    """
    if kind not in FORMATS:
        raise ConfigurationError(f"Invalid log format {kind!r}: expected one of {', '.join(FORMATS)}.")
    handler = logging.StreamHandler()
    handler.setFormatter(LogFormatter(as_json=kind == "json"))
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.setLevel(logging.INFO)
        logger.handlers = [one for one in logger.handlers if not isinstance(one.formatter, LogFormatter)] + [handler]
