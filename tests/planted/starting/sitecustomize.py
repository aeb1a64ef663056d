# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Start of Python processes of tests while their calls are recorded."""

import os
import runpy
import sys
from pathlib import Path

_TESTS = Path(__file__).parent.parent.parent
runpy.run_path(str(_TESTS / "starting" / "sitecustomize.py"))
if os.environ.get("LANESUM_CALLS"):
    sys.path.append(str(_TESTS.parent))
    from tests.planted.recording import start_in_child

    start_in_child()
