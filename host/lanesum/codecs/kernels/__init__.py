# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Element loops of the codecs: the NumPy reference, the native extension and the choice between them."""
