#!/usr/bin/env python3
"""Plants each bug of this folder and says how many seeds of the simulation it takes to find it.

Usage: run.py --toolchain build/host/test/toolchain.json [--seeds N] [BUG...]
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "bugs"))
import mutate  # noqa: E402

LIMIT_S = 600


def seeds_taken(toolchain, path, seeds):
    """A line of the table, and whether the bug was found."""
    tree = toolchain.binaries / "bugs" / f"simulation_{path.stem}"
    try:
        bug = mutate.parse(path.read_text())
        mutate.plant(bug, toolchain.source, tree)
        binary = mutate.build(bug, toolchain, tree)
        done = subprocess.run([str(binary)], capture_output=True, text=True, timeout=LIMIT_S,
                              env={**os.environ, "GNSTOR_SEEDS": str(seeds)}, check=False)
    except (mutate.BugError, mutate.ToolchainError) as error:
        return f"{path.stem:24} ERROR {error}", False
    except subprocess.TimeoutExpired:
        return f"{path.stem:24} NOT FOUND within {LIMIT_S} s", False
    finally:
        shutil.rmtree(tree, ignore_errors=True)
    seed = re.search(r"GNSTOR_SEED=(\d+)", done.stdout)
    said = re.search(r"step \d+: ([^;\n]*)", done.stdout)
    if done.returncode == 0:
        return f"{path.stem:24} NOT FOUND in {seeds} seeds", False
    what = said[1][:90] if said else "the firmware's own check"
    return f"{path.stem:24} {seed[1] if seed else '?':>5}  {what}", True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toolchain", required=True)
    parser.add_argument("--seeds", type=int, default=3000)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("bugs", nargs="*", type=pathlib.Path)
    given = parser.parse_args()
    toolchain = mutate.Toolchain(given.toolchain)
    bugs = given.bugs or sorted(HERE.glob("*.bug"))
    missed = 0
    with ThreadPoolExecutor(given.workers) as workers:
        for line, found in workers.map(lambda b: seeds_taken(toolchain, b, given.seeds), bugs):
            print(line, flush=True)
            missed += not found
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
