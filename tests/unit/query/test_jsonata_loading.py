"""Threads that come and go while the library is in use: in a process of its own, which a mistake would end."""

from __future__ import annotations

import subprocess
import sys

from tests.deadlines import PATIENCE_SECONDS

PROGRAM = """
from threading import Thread
from statewright.asl.compile import compile_definition

def compiled(number):
    expression = "{% $map([1..%d], function($v) { $formatNumber($v, '#.00') }) %}" % number
    states = {"A": {"Type": "Pass", "Output": expression, "End": True}}
    compile_definition({"QueryLanguage": "JSONata", "StartAt": "A", "States": states})

for number in range(1, 60):
    thread = Thread(target=compiled, args=(number,))
    thread.start()
    thread.join()
print("whole")
"""


def test_threads_that_end_do_not_take_the_library_with_them():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    assert (done.returncode, done.stdout) == (0, "whole\n"), done.stderr
