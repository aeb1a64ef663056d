// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Ends what target_avx2.inl or target_avx512.inl has begun.
#if defined(__clang__)
#pragma clang attribute pop
#endif
