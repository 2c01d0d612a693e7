#!/usr/bin/env python3
"""Runs a program and checks that it succeeds and prints a text.

Usage: prints.py TEXT PROGRAM [ARGUMENT...]
"""

import subprocess
import sys


def main():
    text, *command = sys.argv[1:]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    print(done.stdout, end="")
    if done.returncode != 0 or text not in done.stdout:
        print(f"exit status {done.returncode}; expected 0 and '{text}'")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
