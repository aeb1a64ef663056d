// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// While the compiled part works, other Python threads run.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

namespace lanesum::bindings {

/// As ``nanobind::gil_scoped_release``; but a thread that comes back while the interpreter is ending stays here for
/// ever. Python would end it by unwinding its stack, and with C++ frames on that the whole process would be aborted.
/// Python 3.14 lets such threads hang by itself.
class Released {
public:
    Released() : state_(PyEval_SaveThread()) {}
    ~Released() {
#if PY_VERSION_HEX >= 0x030D0000
        while (Py_IsFinalizing()) {
#else
        while (_Py_IsFinalizing()) {
#endif
            pause();
        }
        PyEval_RestoreThread(state_);
    }
    Released(const Released &) = delete;
    Released &operator=(const Released &) = delete;

private:
    PyThreadState *state_;
};

}  // namespace lanesum::bindings
