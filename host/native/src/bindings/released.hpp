// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// While the native extension works, other Python threads run.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

namespace lanesum::bindings {

/// As ``nanobind::gil_scoped_release``; but a thread that comes back while the interpreter is ending, or that waits for
/// its lock when the end begins, stays here for ever. Python ends such threads by unwinding their stacks, and with C++
/// frames on them, some of which let nothing through, the whole process would be aborted. Python 3.14 lets them hang by
/// itself.
class Released {
public:
    Released() : state_(PyEval_SaveThread()) {}
    ~Released() {
        try {
            PyEval_RestoreThread(state_);
        } catch (...) {  // nothing that was thrown, but the unwinding; it would go on where this handler ends
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
