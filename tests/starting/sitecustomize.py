# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Faster start of the Python processes of tests: large packages are imported without garbage collection.

Python imports this module when it starts, because ``conftest.py`` puts this folder on PYTHONPATH. A collection during
the import of PyTorch visits up to a million objects that all stay, and so does the last one of the process. Without
them, a process that trains starts and ends in half the processor time. All other objects are collected as usual.
"""

import gc
import sys
from importlib.machinery import ModuleSpec, PathFinder

_LARGE = frozenset(("lightning", "matplotlib", "ray", "scipy", "torch", "torch._dynamo", "transformers"))


class _LargePackages:
    """Finder that imports large packages without garbage collection, and keeps their objects out of later ones."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the spec of a large package; None leaves other modules to other finders."""
        spec = PathFinder.find_spec(name, path, target) if name in _LARGE else None
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_without_collection(module: object) -> None:
            enabled = gc.isenabled()
            gc.disable()
            try:
                execute(module)
            finally:
                gc.freeze()
                if enabled:
                    gc.enable()

        spec.loader.exec_module = execute_without_collection
        return spec


sys.meta_path.insert(0, _LargePackages())
