"""Installs a lock file into the Python that runs this, and says how far pip is: `.ci/install.py LOCK`.

On a terminal one line changes; elsewhere a line is printed every few seconds. If pip fails, its whole output follows,
and its exit code is returned. A lock file is complete, so pip resolves nothing: its resolver refuses hashed packages
whose extras another package asks for.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

EVERY_SECONDS = 5.0
PACKAGE = re.compile(r"(?:Collecting|Requirement already satisfied:) (?P<name>[\w.-]+)==(?P<version>\S+)")
FILE = re.compile(r"Processing \S*?(?P<name>[\w.]+)-(?P<version>[\d.]+\w*)-[^/]*\.whl")
SIZE = re.compile(r"Downloading .* (?P<size>\([\d.]+ [kMG]?B\))$")


class Progress:
    """What pip has said so far, as one line for people."""

    def __init__(self, packages: int) -> None:
        self.packages = packages
        self.reached = 0
        self.text = "asking the package index"

    def read(self, line: str) -> None:
        """Take in a line of pip's output."""
        if line.startswith("Ignoring "):
            self.packages -= 1
        elif found := PACKAGE.match(line) or FILE.match(line):
            self.reached += 1
            self.text = f"package {self.reached} of {self.packages}: {found['name']} {found['version']}"
        elif found := SIZE.search(line):
            self.text += f" {found['size']}"
        elif line.startswith("Installing collected packages"):
            self.text = f"writing {line.count(',') + 1} packages to the disk"


def main(lock: str) -> int:
    """Run pip; returns its exit code."""
    progress = Progress(len(re.findall(r"^[\w.-]+==", Path(lock).read_text(), re.MULTILINE)))
    command = [
        sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off",
        "--require-hashes", "--no-deps", "-r", lock,
    ]  # fmt: skip
    began = shown = time.monotonic()
    said: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            said.append(line)
            progress.read(line.strip())
            if sys.stdout.isatty():
                print(f"\r\x1b[K  {progress.text[:76]}", end="", flush=True)
            elif time.monotonic() - shown >= EVERY_SECONDS:
                shown = time.monotonic()
                print(f"  {progress.text}", flush=True)
    if sys.stdout.isatty():
        print("\r\x1b[K", end="")
    if pip.returncode:
        print("".join(said), end="")
        print(f"pip could not install {lock} (exit code {pip.returncode}); its output is above.")
        return pip.returncode
    print(f"  {progress.reached} packages in {time.monotonic() - began:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1]))
    except KeyboardInterrupt:
        sys.exit(130)
