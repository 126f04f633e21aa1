#!/usr/bin/env python3
"""Checks the structure of the sources; prints one `file:line: message` per violation.

  tools/check_includes.py [ROOT]        ROOT is the repository (default: where this script is)

Rules:
  1. A module includes only itself and the modules above it in cmake/modules.cmake.
  2. Backends do not include one another; their tests may include those above (the oracle).
  3. Heavy headers (HEAVY below) are included by .cpp files only, so that builds stay short, or by
     a header of LIBRARY_ONLY, which in turn only the .cpp files that use the library include.
  4. Test helpers (testing.h, gtest) are included by tests only.
  5. Every header starts with #pragma once; includes are written from src ("toroid/...").
  6. A file has at most 400 lines; a warning above 300.
  7. No path of somebody's machine (a home folder or the like) in any tracked file.
"""

import re
import subprocess
import sys
from pathlib import Path

HEAVY = re.compile(
    r"(CLI/|toml\+\+/|nlohmann/|google/protobuf/|mpi\.h$|oneapi/dnnl/|dnnl|pjrt_c_api\.h$"
    r"|jpeglib\.h$|png\.h$|.*\.pb\.h$)"
)
LIBRARY_ONLY = re.compile(r"(.*/)?onednn_\w+\.h$")  # included by onednn_*.cpp alone
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
MODULE = re.compile(r"^\s*toroid_module\(([\w/]+)")
MACHINE_PATH = re.compile(r"(?<![\w.$}/-])/(?:root|home/\w+|Users/\w+|work|workspace|mnt|scratch)/")
MOST_LINES, MANY_LINES = 400, 300
CODE_SUFFIXES = {".cpp", ".h", ".py", ".sh"}
CODE_FOLDERS = {"src", "tests", "bench", "tools"}


def read_lines(path):
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return []  # a binary file (a picture, a golden file) has no lines to check


def is_test(name):
    return name.endswith("_test.cpp") or name.endswith("testing.h")


class Checker:
    def __init__(self, root):
        self.root = Path(root)
        self.violations = []
        self.warnings = []
        lines = read_lines(self.root / "cmake" / "modules.cmake")
        found = [match.group(1) for line in lines if (match := MODULE.match(line))]
        self.order = {module: place for place, module in enumerate(found)}

    def report(self, path, line, message):
        self.violations.append(f"{path.relative_to(self.root)}:{line}: {message}")

    def module_of(self, path_in_toroid):
        """The module whose folder holds this path ("ops/conv2d.h" -> "ops"), or None.

        Files directly in src/toroid (the program's main) stand below all modules.
        """
        folder = str(Path(path_in_toroid).parent)
        if folder == ".":
            return ""
        return folder if folder in self.order else None

    def rank(self, module):
        return len(self.order) if module == "" else self.order[module]

    def check_module_include(self, path, line, module, included):
        target = self.module_of(included)
        if target is None:
            self.report(path, line, f'"toroid/{included}" is in no module of cmake/modules.cmake')
        elif self.rank(target) > self.rank(module):
            self.report(path, line, f"{module} must not include {target or 'main'}, "
                                    "which comes after it")
        elif (target != module and "/" in target and "/" in module
              and Path(target).parent == Path(module).parent and not is_test(path.name)):
            self.report(path, line, f"{module} must not include its sibling {target}")

    def check_source(self, path, lines):
        source = self.root / "src" / "toroid"
        in_toroid = path.relative_to(source) if path.is_relative_to(source) else None
        module = self.module_of(in_toroid) if in_toroid else None
        if in_toroid and module is None:
            self.report(path, 1, f"folder {in_toroid.parent} has no toroid_module() line "
                                 "in cmake/modules.cmake")
        for number, text in enumerate(lines, 1):
            match = INCLUDE.match(text)
            if not match:
                continue
            quote, name = match.groups()
            if path.suffix == ".h" and HEAVY.match(name) and not LIBRARY_ONLY.match(path.name):
                self.report(path, number, f"{name} is heavy: include it in .cpp files only")
            if LIBRARY_ONLY.match(name) and not re.match(r"onednn_\w+\.cpp$", path.name):
                self.report(path, number, f"{name} is heavy: for the files named onednn_*.cpp only")
            if name.startswith("toroid/") and in_toroid and module is not None:
                self.check_module_include(path, number, module, name.removeprefix("toroid/"))
            if in_toroid and quote == '"' and "/" not in name and (path.parent / name).exists():
                self.report(path, number, f'write the path from src: "toroid/{module}/{name}"')
            for_tests = name.startswith(("gtest/", "gmock/")) or name.endswith("testing.h")
            if in_toroid and for_tests and not is_test(path.name):
                self.report(path, number, f"{name} is for tests only")
        if path.suffix == ".h" and not any(line.strip() == "#pragma once" for line in lines):
            self.report(path, 1, "#pragma once is missing")

    def check_file(self, path):
        lines = read_lines(path)
        folder = path.relative_to(self.root).parts[0]
        for number, text in enumerate(lines, 1):
            if match := MACHINE_PATH.search(text):
                self.report(path, number, f"path of one machine: {match.group(0)}")
        if path.suffix not in CODE_SUFFIXES or folder not in CODE_FOLDERS:
            return
        if path.suffix in {".cpp", ".h"}:
            self.check_source(path, lines)
        if len(lines) > MOST_LINES:
            self.report(path, MOST_LINES + 1, f"{len(lines)} lines, at most {MOST_LINES}: split it")
        elif len(lines) > MANY_LINES:
            name = path.relative_to(self.root)
            self.warnings.append(f"{name}: warning: {len(lines)} lines (aim for {MANY_LINES})")

    def files(self):
        """Tracked files, and new ones that are not ignored; all files outside a git tree."""
        command = ["git", "-C", str(self.root), "ls-files", "-z", "-co", "--exclude-standard"]
        listing = subprocess.run(command, capture_output=True, text=True, check=False)
        if listing.returncode == 0:
            paths = [self.root / name for name in listing.stdout.split("\0") if name]
        else:
            paths = list(self.root.rglob("*"))
        return sorted(path for path in paths if path.is_file() and not path.is_symlink())

    def run(self):
        if not self.order:
            self.violations.append("cmake/modules.cmake:1: no toroid_module() lines found")
        for path in self.files():
            self.check_file(path)
        return self.violations


def main(arguments):
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        print(__doc__)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    checker = Checker(root.resolve())
    violations = checker.run()
    for message in checker.warnings + violations:
        print(message)
    if violations:
        print(f"{len(violations)} violations of the rules in {Path(__file__).name}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
