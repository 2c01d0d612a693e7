#!/usr/bin/env python3
"""Keeps a Google Benchmark file, without what names one computer; fails if a benchmark failed."""

import json
import pathlib
import sys


def main():
    source, kept = map(pathlib.Path, sys.argv[1:])
    result = json.loads(source.read_text())
    for key in ("host_name", "executable"):
        result["context"].pop(key, None)
    kept.write_text(json.dumps(result, indent=1) + "\n")
    wrong = [entry for entry in result["benchmarks"] if entry.get("error_occurred")]
    for entry in wrong:
        print(f"{entry['name']}: {entry['error_message']}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
