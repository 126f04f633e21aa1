#!/usr/bin/env python3
"""What the documentation repeats of the program is what the program says."""

from pathlib import Path

import program

DOCS = Path(__file__).resolve().parents[2] / "docs"


class Reference(program.ProgramTest):
    def test_recipes_md_is_what_the_program_generates(self):
        self.maxDiff = None
        written = (DOCS / "recipes.md").read_text(encoding="utf-8")
        self.assertEqual(
            self.run_program("recipe", "reference").stdout, written,
            "write it anew: build/release/toroid recipe reference > docs/recipes.md")


if __name__ == "__main__":
    program.main()
