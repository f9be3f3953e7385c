"""The library of tier 1, loaded by a thread that does not end.

The allocator of jsonatapy belongs to the thread that loads it: once that thread has ended, the next expression that is
compiled in another one ends the process (a segmentation fault, seen with 2.2.13). Servers compile definitions in
threads that come and go.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib import import_module
from threading import Event, Thread, current_thread, main_thread
from types import ModuleType


@cache
def jsonatapy() -> ModuleType:
    """The library. Raises: ImportError."""
    if current_thread() is not main_thread():
        loaded = Event()

        def load() -> None:
            with suppress(ImportError):
                import_module("jsonatapy")
            loaded.set()
            Event().wait()

        Thread(target=load, name="jsonata", daemon=True).start()
        loaded.wait()
    return import_module("jsonatapy")
