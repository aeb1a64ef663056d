# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Faster start of the Python processes of tests: modules are imported without garbage collection.

Python imports this module when it starts, because ``conftest.py`` puts this folder on PYTHONPATH. A collection during
the import of PyTorch visits up to a million objects that all stay, and so does the last one of the process. Without
them, a process that trains starts and ends in half the processor time. Later objects are collected as usual.
"""

import gc
import sys
from importlib.machinery import ModuleSpec, PathFinder


class _Modules:
    """Finder that imports modules without garbage collection, and keeps their objects out of later ones."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the spec of a module; None within another import, and where the finder of files has none."""
        spec = PathFinder.find_spec(name, path, target) if gc.isenabled() else None
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_without_collection(module: object) -> None:
            gc.disable()
            try:
                execute(module)
            finally:
                gc.freeze()
                gc.enable()

        spec.loader.exec_module = execute_without_collection
        return spec


sys.meta_path.insert(sys.meta_path.index(PathFinder), _Modules())
