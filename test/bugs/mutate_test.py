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


class OtherCases(unittest.TestCase):
    TEXT = """int helper() { return 1; }
TEST_CASE("a ring wraps, seeded") {
  CHECK(helper() == 1);
}
TEST_CASE(
    "a ring that is "
    "full refuses") {
  if (helper() == 1) {
    CHECK(true);
  }
}
TEST_CASE("on one line") { CHECK(true); }
TEST_CASE("decorated" * doctest::skip()) {
  CHECK(true);
}
"""

    def left(self, *arguments):
        return mutate.without_other_cases(self.TEXT, mutate.case_filter(arguments))

    def test_a_filter_selects_as_doctest_does(self):
        for value in ["a ring*", "*WRAPS? seeded", "none,a?ring wraps, seeded,*seeded"]:
            self.assertTrue(mutate.case_filter(["--test-case=" + value])("a ring wraps, seeded"))
        for value in ["ring", "a ring", "*wraps", "a.ring*", "[a] ring*"]:
            self.assertFalse(mutate.case_filter(["--test-case=" + value])("a ring wraps, seeded"))

    def test_what_is_more_than_a_filter_leaves_nothing_out(self):
        for arguments in [[], ["--test-case=a*", "--subcase=b"], ["--test-case=a\\,b"], ["-tc=a"]]:
            self.assertIsNone(mutate.case_filter(arguments))

    def test_cases_that_are_not_selected_are_left_out(self):
        wraps = self.left("--test-case=*wraps*")
        self.assertIn('TEST_CASE("a ring wraps', wraps)
        self.assertNotIn("refuses", wraps)
        self.assertIn("refuses", self.left("--test-case=*is full refuses"))

    def test_the_rest_stays_where_it_is(self):
        before, after = self.TEXT.splitlines(), self.left("--test-case=nothing").splitlines()
        self.assertEqual(len(before), len(after))
        kept = [(number, line) for number, line in enumerate(after) if line]
        self.assertEqual(kept, [(k, before[k]) for k in [0, *range(11, len(before))]])


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

    def test_a_case_that_the_run_does_not_select_is_not_compiled(self):
        test = TOOLCHAIN.source / "test/core/twice.cpp"
        test.write_text(TEST + 'TEST_CASE("broken") {\n  not C++\n}\n')
        try:
            self.assertEqual(self.verdict(BUG), "")
        finally:
            test.write_text(TEST)

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
