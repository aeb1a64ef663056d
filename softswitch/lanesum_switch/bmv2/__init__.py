# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""BMv2 JSON: the loader, and the intermediate representation that it makes for the compiler."""
