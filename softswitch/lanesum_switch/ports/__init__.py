# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Where frames enter and leave a switch (memory, AF_PACKET interfaces, UDP sockets), and the loop that serves them."""
