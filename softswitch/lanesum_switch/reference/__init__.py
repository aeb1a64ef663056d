# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Reference switch: the lanesum switch program in plain Python, frame by frame."""
