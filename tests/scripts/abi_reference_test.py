#!/usr/bin/env python3
"""The ABI reference says what the header says, and notices when the two part."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
SCRIPT = os.path.join(ROOT, "scripts", "abi_reference.py")
HEADER = "plugin_api/include/tenon/plugin.h"
LAYOUT = "tests/golden/abi/layout_v0.txt"
PAGE = "docs/vendor/abi-reference.md"


def run(root, *arguments):
    return subprocess.run([sys.executable, SCRIPT, *arguments, root], capture_output=True, text=True, check=False)


class AbiReference(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = self.folder.name
        for name in (HEADER, LAYOUT, PAGE):
            os.makedirs(os.path.join(self.root, os.path.dirname(name)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), os.path.join(self.root, name))

    def tearDown(self):
        self.folder.cleanup()

    def change(self, name, old, new):
        path = os.path.join(self.root, name)
        with open(path, encoding="utf-8") as source:
            text = source.read()
        self.assertIn(old, text)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text.replace(old, new, 1))

    def test_the_committed_page_is_what_the_header_says(self):
        result = run(self.root, "--check")
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_every_struct_with_every_field_is_on_the_page(self):
        with open(os.path.join(self.root, PAGE), encoding="utf-8") as source:
            page = source.read()
        with open(os.path.join(self.root, LAYOUT), encoding="utf-8") as source:
            rows = [line.split() for line in source if line.strip() and not line.startswith("#")]
        for struct, field, offset, size in rows:
            section = page.split(f"\n### {struct}\n")[1].split("\n### ")[0]
            if field == "sizeof":
                self.assertIn(f"| {size} | | end | |", section)
            else:
                self.assertRegex(section, rf"\| {offset} \| {size} \| `(.*[ *])?{field}(\[\w+\]|\(\))?` \|")

    def test_a_changed_comment_is_noticed_until_the_page_is_written_again(self):
        self.change(HEADER, "the callee writes what it knows", "the callee writes all of it")
        result = run(self.root, "--check")
        self.assertEqual(result.returncode, 1)
        self.assertIn("run scripts/abi_reference.py", result.stdout)
        self.assertEqual(run(self.root).returncode, 0)
        self.assertEqual(run(self.root, "--check").returncode, 0)

    def test_a_field_that_the_layout_table_lacks_is_an_error(self):
        self.change(HEADER, "  uint64_t live_bytes; ", "  uint64_t dead_bytes; ")
        result = run(self.root)
        self.assertEqual(result.returncode, 2)
        self.assertIn("no field dead_bytes of tenon_device_counters", result.stderr)

    def test_a_field_that_the_header_lacks_is_an_error(self):
        self.change(LAYOUT, "tenon_dtype sizeof", "tenon_dtype more 4 4\ntenon_dtype sizeof")
        result = run(self.root)
        self.assertEqual(result.returncode, 2)
        self.assertIn("tenon_dtype", result.stderr)


if __name__ == "__main__":
    unittest.main()
