# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m lanesum.cli``."""

import sys

from lanesum.cli.app import main

sys.exit(main())
