// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// While the native extension works, other Python threads run.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

namespace lanesum::bindings {

/// Like ``nanobind::gil_scoped_release``, but a thread that needs the GIL again while the interpreter ends stays here for
/// ever. Python ends such threads by unwinding their stacks. With C++ frames on them, some of which are noexcept, the
/// whole process would be aborted. Python 3.14 blocks such threads itself.
class Released {
public:
    Released() : state_(PyEval_SaveThread()) {}
    ~Released() {
        try {
            PyEval_RestoreThread(state_);
        } catch (...) {  // the unwinding, which would continue at the end of this handler
            for (;;) {
                pause();
            }
        }
    }
    Released(const Released &) = delete;
    Released &operator=(const Released &) = delete;

private:
    PyThreadState *state_;
};

}  // namespace lanesum::bindings
