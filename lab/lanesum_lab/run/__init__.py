# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The main job: bring up a switch, a controller and the workers, train, and take everything down again."""
