# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Topology = Annotated[str, typer.Option(help="Shipped topology or YAML file.")]
Loopback = Annotated[bool, typer.Option("--loopback", help="Hosts at their addresses below 127.0.0.0/8, over UDP.")]
