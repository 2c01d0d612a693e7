#!/usr/bin/env python3
"""Checks that tidy.py reports what each rule forbids, and passes what it allows."""

import pathlib
import tempfile
import unittest

import tidy

HEAD = "#pragma once\n\n"
LONG = "".join(f"  ++n;  // {line}\n" for line in range(70))

# file, text, the rules that must be reported
CASES = [
    ("include/gnstor/core/good.hpp", HEAD + "struct good {};\n", []),
    ("include/gnstor/core/good.hpp", "struct good {};\n", ["pragma-once"]),
    ("include/gnstor/core/good.hpp", HEAD + "struct good {};\n" + "\n" * 400, ["header-size"]),
    ("include/gnstor/core/good.hpp", HEAD + "struct other {};\n", ["named-after-entity"]),
    ("include/gnstor/core/good.hpp", "#pragma once\n/// Gathers.\n\nstruct other {};\n", []),
    ("include/gnstor/core/good.hpp", HEAD + "class good {\n};\nclass other {\n};\n", ["one-class"]),
    ("include/gnstor/core/good.hpp", HEAD + f"struct good {{}};  {'/' * 90}\n", ["columns"]),
    ("include/gnstor/core/good.hpp", HEAD + "struct good {};  // TODO\n", ["unfinished"]),
    ("include/gnstor/core/good.hpp", HEAD + "#define HD\nstruct good {};\n", ["macros"]),
    ("include/gnstor/core/good.hpp",
     HEAD + "".join(f"#define GNSTOR_{n}\n" for n in "ABCDEFG") + "struct good {};\n", ["macros"]),
    ("test/core/size.cpp", f"void f(int n) {{\n{LONG}}}\n", ["function-size"]),
    ("test/core/size.cpp", f'TEST_CASE("n grows") {{\n{LONG}}}\n', ["function-size"]),
    ("test/core/size.cpp", f"struct s {{\n  s() : n{{0}} {{\n{LONG}  }}\n}};\n", ["function-size"]),
    ("test/core/size.cpp", f"auto f() -> int {{\n{LONG}}}\n", ["function-size"]),
    ("test/core/size.cpp", f"int table[] = {{\n{LONG}}};\nvoid f() {{}}\n", []),
    ("test/core/size.cpp", f"namespace a {{\n{LONG}}}\nclass b {{\n{LONG}}};\n", []),
    ("test/core/shared.hpp", HEAD + 'TEST_CASE("x") {}\n', ["cases-have-a-source"]),
]
LOOPS = [
    ("while (x) {}", ["named-loops"]),
    ("do { f(); } while (x);", ["named-loops", "named-loops"]),
    ("for (;;) {}", ["named-loops"]),
    ("for (int k = 0;; ++k) {}", ["named-loops"]),
    ("for (node* p = head; p;) {}", ["named-loops"]),
    ("for (int k = 0; k < 3; ++k) {}", []),
    ("for (; k < 3; k += 2) {}", []),
    ("for (int x : values) {}", []),
    ("for (bounded n{64}; n;) {}", []),
    ("for (simt::until wait{d}; wait;) {}", []),
    ("// while (true)", []),
    ('f("while (true)");', []),
    ("int n = 1'000; char c = '\"'; f(); // while", []),
    ("printf(\"x\");", ["no-printing"]),
    ("int t = threadIdx.x;", ["gpu-names"]),
    ("std::function<void()> f;", ["no-device-dispatch"]),
]
WORD = "a word, "
LINK = "[glossary](https://example.org/" + "x" * 90 + ")"
PAGES = [
    ("docs/good.md", "# Good\n\nA sentence.\n", []),
    ("docs/good.md", WORD * 13 + "\n", ["page-columns"]),
    ("CHANGELOG.md", WORD * 13 + "\n", ["page-columns"]),
    ("test/interop/README.md", WORD * 13 + "\n", ["page-columns"]),
    ("docs/internals/good.md", f"```\n{WORD * 13}\n```\n", ["page-columns"]),
    ("docs/good.md", f"| {WORD * 20}|\n", []),
    ("docs/good.md", f"| {WORD * 25}|\n", ["page-columns"]),
    ("docs/good.md", f"- {LINK}\n", []),
    ("docs/good.md", f"see {LINK}\n", ["page-columns"]),
    ("README.md", "A line.\n" * 768, []),
    ("README.md", "A line.\n" * 769, ["page-size"]),
    ("CONTRIBUTING.md", "A line.\n" * 769, ["page-size"]),
    ("docs/internals/good.md", "A line.\n" * 1024, []),
    ("docs/internals/good.md", "A line.\n" * 1025, ["page-size"]),
    ("docs/decisions/001-good.md", "A line.\n" * 1025, ["page-size"]),
    ("CHANGELOG.md", "A line.\n" * 1025, []),
    ("docs/good.md", "It takes a seat.\n", ["private-words"]),
    ("docs/good.md", "It runs Errands.\n", ["private-words"]),
    ("docs/good.md", "The NIC is told, and has news.\n", ["private-words", "private-words"]),
    ("docs/good.md", "After a glance, and a period of grace\n", ["private-words"] * 2),
    ("README.md", "a deserted slot\n", ["private-words"]),
    ("CONTRIBUTING.md", "any lane, in any\n  company\n", ["private-words"]),
    ("docs/good.md", "given back by the half\nring\n", ["private-words"]),
    ("docs/good.md", "```\n// two files, a lane an element\n```\n", ["private-words"]),
    ("docs/good.md", "It keeps one file an SSD.\n", ["private-words"]),
    ("docs/good.md", "one element per lane, `reader_grace` and `glance`, newsreel, a-told\n", []),
    ("CHANGELOG.md", "It was told.\n", []),
    ("test/core/good.cpp", "int queue_seat = 0;\n", ["private-words"]),
    ("test/core/good.cpp", "bool told_ = false;  // NEWS2\n", ["private-words"] * 2),
    ("test/core/good.cpp", '#include "grace_period.hpp"\n', ["private-words"]),
    ("test/core/good.cpp", 'const char* text = "half-told";\n', ["private-words"]),
    ("test/core/good.cpp", "/// any lane, in any\n  /// company\n", ["private-words"]),
    ("test/core/good.py", "# one file\n# an SSD\n", ["private-words"]),
    ("test/core/queue_seat.cpp", "int n;\n", ["private-words"]),
    ("test/bugs/good.bug", "claim: a slot is deserted\n", ["private-words"]),
    ("scripts/good", "echo told\n", ["private-words"]),
    ("CMakeLists.txt", "# told\n", ["private-words"]),
    ("test/core/good.cpp", "int untold, newsreel, gracefully;  // renews; one file per SSD\n", []),
    ("test/tidy/tidy.py", "# told\n", []),
]
INCLUDES = [
    ("include/gnstor/wire/good.hpp", "<gnstor/simt/lane.hpp>", []),
    ("include/gnstor/core/good.hpp", "<gnstor/simt/lane.hpp>", ["library-includes"]),
    ("include/gnstor/memory/good.hpp", "<gnstor/qp/queue_pair.hpp>", ["library-includes"]),
    ("include/gnstor/array/good.hpp", "<gnstor/volume/volume_ref.hpp>", []),
    ("include/gnstor/array/good.hpp", "<gnstor/host/volume.hpp>", ["library-includes"]),
    ("include/gnstor/array/good.hpp", "<gnstor/simt_host/executor.hpp>", ["library-includes"]),
    ("include/gnstor/array/good.hpp", "<deengine/shard.hpp>", ["library-includes"]),
    ("include/gnstor/array/good.hpp", "<fmt/format.h>", ["library-includes"]),
    ("include/gnstor/array/good.hpp", "<cuda/atomic>", []),
    ("include/gnstor/array/good.hpp", "<type_traits>", []),
    ("include/gnstor/array/good.hpp", '"page_table.hpp"', ["library-includes"]),
    ("include/gnstor/attic/good.hpp", "<cstdint>", ["library-includes"]),
    ("include/gnstor/good.hpp", "<gnstor/array/array_view.hpp>", []),
    ("include/gnstor/good.hpp", "<gnstor/host/array.hpp>", ["library-includes"]),
    ("include/gnstor/simt/good.hpp", "<cuda_runtime_api.h>", ["host-compiler"]),
    ("include/gnstor/simt/good.cuh", "<cooperative_groups.h>", []),
    ("firmware/hca/good.hpp", "<gnstor/wire/mlx5/cqe.hpp>", []),
    ("firmware/deengine/good.hpp", "<gnstor/io/placement.hpp>", []),
    ("firmware/deengine/good.hpp", "<gnstor/volume/volume_ref.hpp>", ["firmware-includes"]),
    ("firmware/hca/good.hpp", "<gnstor/qp/queue_pair.hpp>", ["firmware-includes"]),
    ("firmware/afa/good.hpp", "<daemon/manager.hpp>", ["firmware-includes"]),
    ("firmware/attic/good.hpp", "<cstdint>", ["firmware-includes"]),
    ("firmware/daemon/good.hpp", "<gnstor/host/error.hpp>", ["firmware-includes"]),
    ("firmware/timing/good.hpp", "<deengine/good.hpp>", []),
    ("firmware/deengine/good.hpp", "<timing/good.hpp>", ["firmware-includes"]),
    ("firmware/afa/good.hpp", "<emulated/emulated_array.hpp>", ["firmware-includes"]),
    ("firmware/afa/good.hpp", "<serve/controller.hpp>", ["firmware-includes"]),
    ("hostsetup/src/emulated/good.hpp", "<afa/node.hpp>", []),
    ("hostsetup/src/emulated/good.hpp", "<verbs/device.hpp>", ["layer-includes"]),
    ("hostsetup/src/emulated/good.hpp", '"session_impl.hpp"', ["layer-includes"]),
    ("hostsetup/src/fabrics/good.hpp", "<verbs/device.hpp>", []),
    ("hostsetup/src/verbs/good.hpp", "<fabrics/transport.hpp>", ["layer-includes"]),
    ("hostsetup/src/attic/good.hpp", "<cstdint>", ["layer-includes"]),
    ("hostsetup/src/good.hpp", "<emulated/open_emulated.hpp>", []),
    ("hostsetup/src/good.hpp", "<emulated/emulated_array.hpp>", ["layer-includes"]),
    ("hostsetup/src/good.hpp", "<deengine/geometry.hpp>", ["layer-includes"]),
    ("hostsetup/src/good.hpp", "<serve/controller.hpp>", ["layer-includes"]),
    ("serve/good.hpp", "<emulated/emulated_array.hpp>", []),
    ("serve/good.hpp", "<gnstor-target/serve.hpp>", ["layer-includes"]),
    ("tools/gnstor-target/good.hpp", "<serve/controller.hpp>", []),
    ("tools/gnstor-target/good.hpp", '"../../test/good.hpp"', ["layer-includes"]),
    ("hostsetup/include/gnstor/host/good.hpp", "<afa/array.hpp>", ["host-includes"]),
    ("hostsetup/simt/include/gnstor/simt_host/good.hpp", "<gnstor/qp/qp.hpp>", ["host-includes"]),
]


def reported(files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return [rule for _, _, rule, _ in tidy.violations(root)]


class Tidy(unittest.TestCase):
    def test_each_rule_reports_its_violation(self):
        for name, text, rules in CASES:
            with self.subTest(name=name, text=text[:80]):
                self.assertEqual(reported({name: text}), rules)

    def test_pages_are_narrow_short_and_in_plain_words(self):
        source = {"include/gnstor/core/good.hpp": HEAD + "struct good {};\n"}
        for name, text, rules in PAGES:
            with self.subTest(name=name, text=text[:80]):
                self.assertEqual(sorted(reported({**source, name: text})), sorted(rules))

    def test_pages_alone_are_no_project(self):
        self.assertEqual(reported({"README.md": "# A page\n"}), ["sources"])

    def test_statements_of_device_code(self):
        for statement, rules in LOOPS:
            for name in ["include/gnstor/qp/good.hpp", "firmware/hca/good.hpp"]:
                with self.subTest(statement=statement, name=name):
                    text = f"{HEAD}inline void good() {{\n  {statement}\n}}\n"
                    self.assertEqual(reported({name: text}), rules)

    def test_who_may_include_whom(self):
        for name, include, rules in INCLUDES:
            with self.subTest(name=name, include=include):
                text = f"{HEAD}#include {include}\nstruct good {{}};\n"
                self.assertEqual(reported({name: text}), rules)

    def test_a_loop_in_a_macro_is_not_a_statement(self):
        macro = "#define GNSTOR_X(c) \\\n  do { f(); } \\\n  while (c)\nstruct good {};\n"
        self.assertEqual(reported({"include/gnstor/core/good.hpp": HEAD + macro}), [])

    def test_a_shared_test_header_with_a_source_of_its_name_is_fine(self):
        case = 'TEST_CASE("x") {}\n'
        files = {"test/core/x.hpp": HEAD + case, "test/core/x.cpp": '#include "x.hpp"\n'}
        self.assertEqual(reported(files), [])


if __name__ == "__main__":
    unittest.main()
