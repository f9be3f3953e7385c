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


FORKING = """
import os
from threading import Event, Thread
from statewright.asl.compile import compile_definition

compiled, stay = Event(), Event()

def work():
    states = {"A": {"Type": "Pass", "Output": "{% $merge([$states.input, {'a': 1}]) %}", "End": True}}
    compile_definition({"QueryLanguage": "JSONata", "StartAt": "A", "States": states})
    compiled.set()
    stay.wait()

thread = Thread(target=work, daemon=True)
thread.start()
compiled.wait()
child = os.fork()
if not child:
    os._exit(0)
os.waitpid(child, 0)
stay.set()
thread.join()
print("whole")
"""


def test_a_fork_complains_of_nothing_that_other_threads_have_compiled():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKING],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("whole\n", "")
