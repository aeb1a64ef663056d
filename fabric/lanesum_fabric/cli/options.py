# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from lanesum import environment
from lanesum.rpc import controller as rpc

DEFAULT_CONTROLLER = f"127.0.0.1:{rpc.DEFAULT_PORT}"

Controller = Annotated[
    str, typer.Option(help="host:port of the controller, or of several by commas.", envvar=environment.CONTROLLER)
]
Topology = Annotated[str, typer.Option(help="Shipped topology or YAML file.")]
Loopback = Annotated[bool, typer.Option("--loopback", help="Hosts at their addresses below 127.0.0.0/8, over UDP.")]
Tls = Annotated[
    Path | None, typer.Option(envvar=environment.TLS, help="Folder with ca.crt, tls.crt and tls.key (lanesum certs).")
]
Metrics = Annotated[
    str | None, typer.Option(help="Serve Prometheus metrics at this address: host:port, by HTTP, or HTTPS with --tls.")
]
LogFormat = Annotated[
    Literal["text", "json"] | None, typer.Option(help="Write logs with their time to standard error.")
]
Insecure = Annotated[
    bool, typer.Option("--insecure", help="Accept an address that others reach, without TLS and identified callers.")
]
