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
    Released() : by_who_ends_it_(is_ending()), state_(PyEval_SaveThread()) {}
    ~Released() {
        while (!by_who_ends_it_ && is_ending()) {
            pause();
        }
        PyEval_RestoreThread(state_);
    }
    Released(const Released &) = delete;
    Released &operator=(const Released &) = delete;

private:
    static bool is_ending() {
#if PY_VERSION_HEX >= 0x030D0000
        return Py_IsFinalizing();
#else
        return _Py_IsFinalizing();
#endif
    }

    bool by_who_ends_it_;  // whoever has the interpreter while it is ending is the thread that ends it
    PyThreadState *state_;
};

}  // namespace lanesum::bindings
