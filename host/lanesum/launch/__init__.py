# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum launch``: start missing parts, admit a job, and run a training script under torchrun."""
