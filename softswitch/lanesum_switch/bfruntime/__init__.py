# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""BF Runtime over gRPC for the embedded switch with programs for Tofino, after the agent ``bf_switchd``.

It has what a controller of lanesum uses: match-action tables, counters, registers, multicast, settings of
ports, and the push of a program with its description. Other tables, attributes and operations are UNIMPLEMENTED.
Intended differences:

- A program is the text that the embedded switch runs, in place of the chip's binary.
- A description that does not fit the program is refused.
- In a warm restart of two steps, registers cannot be used. The program is dropped if its client leaves before the end,
  or another one binds. While a client is bound, no other one can begin such a restart.
- A client that is not bound can only push, bind and read the configuration; an agent also serves clients without a
  subscription.
- Counters are read only with ``from_hw``.
"""

from lanesum_switch.bfruntime.service import BfRuntimeServer

__all__ = ["BfRuntimeServer"]
