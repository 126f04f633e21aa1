#!/usr/bin/env python3
"""Links between the Markdown files of the repository lead somewhere."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def documents():
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("bench/*.md"), *ROOT.glob("docs/**/*.md")])


def anchors(path):
    """The names that GitHub gives to a file's headings."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


def broken(path):
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists():
            yield f"{path.relative_to(ROOT)}: {target} does not exist"
        elif anchor and anchor not in anchors(file):
            yield f"{path.relative_to(ROOT)}: {target}: no such heading"


class Links(unittest.TestCase):
    def test_links_lead_to_files_and_headings_that_exist(self):
        self.assertEqual([], [b for path in documents() for b in broken(path)])

    def test_every_document_can_be_reached_from_the_readme(self):
        reached, waiting = set(), [ROOT / "README.md"]
        while waiting:
            path = waiting.pop()
            if path in reached or path.suffix != ".md" or not path.exists():
                continue
            reached.add(path)
            text = path.read_text(encoding="utf-8")
            waiting += [(path.parent / t.partition("#")[0]).resolve() for t in LINK.findall(text)
                        if "://" not in t and not t.startswith("#")]
        self.assertEqual([], [str(p.relative_to(ROOT)) for p in documents() if p not in reached])


if __name__ == "__main__":
    unittest.main(verbosity=2)
