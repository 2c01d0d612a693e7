#!/usr/bin/env python3
"""Tests of cmake/together.py: which sources are compiled together, and which are kept apart."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cmake"))
import together  # noqa: E402

CASE = 'TEST_CASE("it works") {\n  int inside = 1;\n  CHECK(inside == 1);\n}\n'


class TogetherTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.root / name
        path.write_text(text)
        return str(path)

    def apart(self, one, other):
        """Whether sources with these texts are kept apart."""
        together.read.cache_clear()
        return len(together.gather([self.write("a.cpp", one + CASE),
                                    self.write("b.cpp", other + CASE)])) == 2

    def test_who_goes_with_whom_does_not_depend_on_what_is_left_out(self):
        sources = [self.write(f"{n}.cpp", f"int f{n % 5}() {{\n}}\n") for n in range(8)]
        for left_out in sources:
            fewer = together.gather([one for one in sources if one != left_out])
            all_but = [[path for path in paths if str(path) != left_out]
                       for paths in together.gather(sources)]
            self.assertEqual(fewer, [paths for paths in all_but if paths])

    def test_what_shares_no_name_goes_together(self):
        self.assertFalse(self.apart("struct a {};\nint f(int n) {\n  return n;\n}\n",
                                    "struct b {};\nint g(int n) {\n  return n;\n}\n"))

    def test_what_is_said_twice_is_kept_apart(self):
        for text in ["struct x {\n};\n", "enum class x { a };\n", "int x(int n) {\n}\n",
                     "constexpr std::uint64_t x = 7;\n", "const char* const x[] = {};\n",
                     "std::vector<int>\nx(int n) {\n}\n", "template <class T>\nclass x {\n};\n",
                     "thing x{1, 2};\n"]:
            self.assertTrue(self.apart(text, "int x = 1;\n"), text)

    def test_names_within_functions_do_not_count(self):
        self.assertFalse(self.apart("void f() {\n  int x = 1;\n}\n", "int x = 1;\n"))

    def test_an_alias_and_an_opened_namespace_of_its_name_are_kept_apart(self):
        opened, alias = "using namespace lib;\n", "namespace host = lib::simt::host;\n"
        self.assertTrue(self.apart(opened, alias))
        self.assertTrue(self.apart(alias, opened))
        self.assertFalse(self.apart(opened, "namespace host = lib::host;\n"))
        self.assertFalse(self.apart(opened, "namespace fs = std::filesystem;\n"))

    def test_an_alias_may_be_said_twice_if_it_means_the_same(self):
        alias = "using words = std::uint64_t;\nnamespace fw = firmware;\n"
        self.assertFalse(self.apart(alias, alias))
        self.assertTrue(self.apart(alias, "using words = std::uint32_t;\n"))
        self.assertTrue(self.apart(alias, "namespace fw = firmware::nic;\n"))

    def test_what_a_header_of_the_tests_says_counts(self):
        self.write("rig.hpp", "#pragma once\nnamespace host = simt::host;\nstruct rig {\n};\n")
        user = '#include "rig.hpp"\n'
        self.assertFalse(self.apart(user, user))
        self.assertTrue(self.apart(user, "struct rig {\n};\n"))
        self.assertTrue(self.apart(user, "void f() {\n  host::session s;\n}\n"))
        self.assertFalse(self.apart(user, "void f() {\n  gnstor::host::session s;\n}\n"))
        self.assertFalse(self.apart(user, "void f() { // not host::session\n}\n"))

    def test_a_source_can_ask_to_be_compiled_alone(self):
        self.assertTrue(self.apart("// compiled alone: it defines malloc\n", ""))

    def test_not_too_many_go_together_and_all_go_somewhere(self):
        sources = [self.write(f"{n}.cpp", f"int f{n}() {{\n}}\n") for n in range(9)]
        lists = together.gather(sources)
        self.assertEqual([len(one) for one in lists], [4, 4, 1])
        self.assertEqual(sorted(map(str, sum(lists, []))), sources)

    def test_only_what_differs_is_written_again(self):
        source, written = self.write("a.cpp", CASE), self.root / "out/room_0.cpp"
        times = []
        for _ in range(2):
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                together.main(str(written.parent), "room", source)
            self.assertEqual(said.getvalue(), str(written))
            times.append(written.stat().st_mtime_ns)
        self.assertEqual(*times)
        self.assertEqual(written.read_text(), f'#include "{source}"\n')


if __name__ == "__main__":
    unittest.main()
