#!/usr/bin/env python3
"""Tests of tools/check_includes.py: each rule on a small tree with one seeded violation."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import check_includes  # noqa: E402

MODULES = """
toroid_module(base)
toroid_module(graph)
toroid_module(backends)
toroid_module(backends/reference)
toroid_module(backends/cpu LINK dnnl)
toroid_module(train)
"""


class CheckIncludes(unittest.TestCase):
    def violations(self, name, text):
        """What the checker says of a tree with this one file beside the list of modules."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            for path, content in (("cmake/modules.cmake", MODULES), (name, text)):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(content)
            checker = check_includes.Checker(root)
            violations = checker.run()
            self.warnings = checker.warnings
            return violations

    def test_including_a_module_above_is_fine(self):
        self.assertEqual([], self.violations(
            "src/toroid/train/loop.cpp",
            '#include "toroid/backends/cpu/executor.h"\n#include <nlohmann/json.hpp>\n'))

    def test_including_a_module_below_names_file_and_line(self):
        self.assertEqual(
            ["src/toroid/graph/node.h:3: graph must not include train, which comes after it"],
            self.violations("src/toroid/graph/node.h",
                            '#pragma once\n\n#include "toroid/train/loop.h"\n'))

    def test_a_backend_must_not_include_its_sibling(self):
        self.assertEqual(
            ["src/toroid/backends/cpu/relu.cpp:1: "
             "backends/cpu must not include its sibling backends/reference"],
            self.violations("src/toroid/backends/cpu/relu.cpp",
                            '#include "toroid/backends/reference/relu.h"\n'))

    def test_a_backend_test_may_include_the_oracle(self):
        self.assertEqual([], self.violations("src/toroid/backends/cpu/relu_test.cpp",
                                             '#include "toroid/backends/reference/relu.h"\n'))

    def test_a_folder_that_is_no_module_is_found(self):
        [violation] = self.violations("src/toroid/backends/gpu/relu.cpp", "int x;\n")
        self.assertIn("backends/gpu has no toroid_module() line", violation)

    def test_heavy_headers_stay_out_of_headers(self):
        for name in ("CLI/CLI.hpp", "toml++/toml.h", "nlohmann/json.hpp", "mpi.h", "dnnl.hpp",
                     "google/protobuf/message.h", "oneapi/dnnl/dnnl.hpp", "pjrt_c_api.h",
                     "jpeglib.h", "png.h", "toroid/data/example.pb.h"):
            [violation, *_] = self.violations("src/toroid/base/x.h",
                                              f"#pragma once\n#include <{name}>\n")
            self.assertEqual(
                violation, f"src/toroid/base/x.h:2: {name} is heavy: include it in .cpp files only")

    def test_the_header_over_onednn_is_for_the_files_over_onednn(self):
        self.assertEqual([], self.violations("src/toroid/backends/cpu/onednn_primitive.h",
                                             "#pragma once\n#include <oneapi/dnnl/dnnl.hpp>\n"))
        line = '#include "toroid/backends/cpu/onednn_primitive.h"\n'
        self.assertEqual([], self.violations("src/toroid/backends/cpu/onednn_matmul.cpp", line))
        [violation] = self.violations("src/toroid/backends/cpu/relu.cpp", line)
        self.assertIn("onednn_primitive.h is heavy: for the files named onednn_*.cpp only", violation)

    def test_test_helpers_stay_out_of_the_program(self):
        [violation] = self.violations("src/toroid/base/x.cpp", "#include <gtest/gtest.h>\n")
        self.assertIn("for tests only", violation)

    def test_pragma_once_is_required(self):
        self.assertEqual(["src/toroid/base/x.h:1: #pragma once is missing"],
                         self.violations("src/toroid/base/x.h", "int f();\n"))

    def test_long_files_fail_and_longish_ones_warn(self):
        [violation] = self.violations("src/toroid/base/x.cpp", "\n" * 401)
        self.assertIn(":401: 401 lines, at most 400", violation)
        self.assertEqual([], self.violations("src/toroid/base/x.cpp", "\n" * 301))
        self.assertIn("301 lines", self.warnings[0])

    def test_machine_paths_are_found_anywhere(self):
        home = "/" + "home/someone/"
        self.assertEqual([f"README.md:2: path of one machine: {home}"],
                         self.violations("README.md", f"Build:\n  cd {home}toroid\n"))
        self.assertEqual([], self.violations("README.md", "${sourceDir}/build/x and a/root/b\n"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
