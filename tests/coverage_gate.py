"""Fails when a core package falls below its share of lines covered: `python -m tests.coverage_gate coverage.json`."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

REQUIRED = {
    "query": 98.0, "asl": 98.0, "interpreter": 98.0, "engine": 93.0, "stores": 96.0, "queues": 95.0, "tables": 87.0,
    "functions": 86.0,
}  # fmt: skip
"""Package to the least percentage of its lines that the tests must reach."""


def main() -> None:
    """Print one line a package; exit 1 when one is too low."""
    report = json.loads(Path(sys.argv[1]).read_text())
    lines: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, file in report["files"].items():
        parts = Path(name).parts
        package = parts[parts.index("statewright") + 1].removesuffix(".py")
        lines[package][0] += file["summary"]["covered_lines"]
        lines[package][1] += file["summary"]["num_statements"]
    low = []
    for package, (covered, total) in sorted(lines.items()):
        share = 100 * covered / total if total else 100.0
        required = REQUIRED.get(package)
        print(f"{package:14}{share:6.1f} %" + (f"  (at least {required:.0f} %)" if required else ""))
        if required is not None and share < required:
            low.append(package)
    if low:
        sys.exit(f"coverage is too low: {', '.join(low)}")


if __name__ == "__main__":
    main()
