#!/usr/bin/env python3
"""Checks that mutate.py finds a bug that a test sees, and rejects one that it does not."""

import argparse
import pathlib
import sys
import tempfile
import unittest

import mutate

TOOLCHAIN = None
HEADER = """#pragma once
inline int twice(int a) {
  return 2 *
         a;
}
inline int one() { return 1; }
"""
TEST = """#include <doctest/doctest.h>
#include <gnstor/twice.hpp>
TEST_CASE("twice doubles") { CHECK(twice(3) == 6); }
"""
BUG = """file: include/gnstor/twice.hpp
from: return 2 * a;
to: return 2 + a;
source: test/core/twice.cpp
run: test_core --test-case=twice*
found by: fast
claim: twice doubles
"""


class Parse(unittest.TestCase):
    def test_reads_fields_and_continuations(self):
        bug = mutate.parse("# note\n" + BUG.replace("to: return 2 + a;", "to: return\n  7;"))
        self.assertEqual(bug["to"], "return\n  7;")
        self.assertEqual(bug["source"], ["test/core/twice.cpp"])

    def test_refuses_a_missing_or_unknown_key(self):
        for text in [BUG.replace("claim: twice doubles\n", ""), BUG + "why: because\n"]:
            with self.assertRaises(mutate.BugError):
                mutate.parse(text)

    def test_refuses_a_place_that_is_not_unique(self):
        self.assertEqual(mutate.mutated("a  f(\n  b);", "f(b)", "d"), "a  d;")
        for text in ["x", "b c, b c"]:
            with self.assertRaises(mutate.BugError):
                mutate.mutated(text, "b c", "d")


class EndToEnd(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(cls.folder.name)
        TOOLCHAIN.source, TOOLCHAIN.binaries = root, root / "build"
        for name, text in {"include/gnstor/twice.hpp": HEADER, "test/core/twice.cpp": TEST}.items():
            (root / name).parent.mkdir(parents=True)
            (root / name).write_text(text)
        (root / "build").mkdir()
        built = mutate.build(mutate.parse(BUG), TOOLCHAIN, root)
        built.rename(root / "build" / "test_core")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def verdict(self, text):
        return mutate.check(mutate.parse(text), TOOLCHAIN, TOOLCHAIN.binaries / "tree")

    def test_a_bug_that_the_test_sees_is_found(self):
        self.assertEqual(self.verdict(BUG), "")

    def test_a_bug_that_no_test_sees_is_reported(self):
        unseen = BUG.replace("return 2 * a", "return 1").replace("return 2 + a", "return 2")
        self.assertIn("not found: twice doubles", self.verdict(unseen))

    def test_a_filter_that_selects_nothing_is_an_error(self):
        with self.assertRaisesRegex(mutate.BugError, "no test case matches"):
            self.verdict(BUG.replace("twice*", "thrice*"))

    def test_a_mutant_that_does_not_compile_is_an_error(self):
        with self.assertRaisesRegex(mutate.BugError, "does not compile"):
            self.verdict(BUG.replace("to: return 2 + a;", "to: return 2 + b;"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toolchain", required=True)
    known, rest = parser.parse_known_args()
    TOOLCHAIN = mutate.Toolchain(known.toolchain)
    unittest.main(argv=[sys.argv[0], *rest])
