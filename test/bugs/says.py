#!/usr/bin/env python3
"""Writes the key "says" into bugs that have none: runs each mutant three times, and takes the first
failure that every run prints. A bug whose runs fail in different ways stays without.

    says.py --toolchain build/host/test/toolchain.json [--verdicts] [--workers N] BUG...

With --verdicts the verdict is left in the build, as a run of mutate.py leaves it.
"""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

import mutate
from verdicts import FILE, NoVerdict, Verdicts

RUNS = 3
LONGEST = 90
FAILURES = [r"ERROR: ((?:CHECK|REQUIRE)\w*\(.*\)) (?:is NOT correct|THREW exception|did NOT)",
            r"ERROR: test case THREW exception: (.*)",
            r"(test case CRASHED: SIG\w+)",
            r"(WARNING: ThreadSanitizer: data race)",
            r"FATAL ERROR: (.*)",
            r"\nwhat\(\): *(.*)"]


def failures(output):
    """What the failures in `output` say, in the order of the kinds and then of their coming."""
    for pattern in FAILURES:
        for match in re.finditer(pattern, output):
            # A text that should be empty says more than the check; its numbers, and those of an
            # exception, are those of one run.
            value = re.match(r'.*\n +values: \w+\( (.*?)(?: ==  \))?\n', output[match.end():])
            for text in [value[1]] if value and match[1].endswith('== "" )') else []:
                yield from longest_word(text)
            check = [match[1][:LONGEST].strip()] if "CHECK" in pattern else longest_word(match[1])
            yield from check


def longest_word(text):
    """The longest part of `text` without numbers and paths, if that is long enough to tell."""
    said = max(re.split(r"\S*/\S*|\d[\w.]*", text), key=len)[:LONGEST].strip()
    return [said] if len(said) >= 12 else []


def common(outputs):
    """The first failure that all of `outputs` print; empty if there is none."""
    for said in failures(outputs[0]):
        if all(mutate.blanks_aside(said) in mutate.blanks_aside(output) for output in outputs):
            return said
    return ""


def write(path, toolchain, verdicts):
    """What came of one bug."""
    text = path.read_text()
    tree = toolchain.binaries / "bugs" / f"says_{path.stem}"
    try:
        bug = mutate.parse(text)
        wrong = mutate.check(bug, toolchain, tree)
        if wrong:
            return f"WRONG {wrong.splitlines()[0]}"
        if "says" not in bug:
            mutant = [str(tree / "mutant"), *shlex.split(bug["run"])[1:]]
            said = common([mutate.outcome(mutant)[1] for _ in range(RUNS)])
            if not said:
                return "fails in different ways"
            text = text.rstrip("\n") + f"\nsays: {said}\n"
            path.write_text(text)
            bug = mutate.parse(text)
        if verdicts:
            verdicts.note_found(path.stem, text, mutate.described(bug), tree)
        return bug["says"]
    except (mutate.BugError, mutate.ToolchainError, NoVerdict) as error:
        return f"ERROR {error}"
    finally:
        shutil.rmtree(tree, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--toolchain", required=True)
    parser.add_argument("--verdicts", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("bugs", nargs="+", type=pathlib.Path)
    given = parser.parse_args()
    toolchain = mutate.Toolchain(given.toolchain)
    verdicts = Verdicts(toolchain, FILE) if given.verdicts else None
    sys.stdout, lines = open(os.devnull, "w", encoding="utf-8"), sys.stdout
    with ThreadPoolExecutor(given.workers) as workers:
        for path, said in zip(given.bugs, workers.map(
                lambda bug: write(bug, toolchain, verdicts), given.bugs)):
            print(f"{path.stem:36} {said}", file=lines, flush=True)


if __name__ == "__main__":
    main()
