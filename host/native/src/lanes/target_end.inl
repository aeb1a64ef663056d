// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// End of the code compiled with target_avx2.inl or target_avx512.inl.
#if defined(__clang__)
#pragma clang attribute pop
#endif
