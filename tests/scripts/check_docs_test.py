"""check_docs.py finds dead links, stale cuts, variables without a row and orphaned pages."""
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(__file__), "..", "..", "scripts", "check_docs.py")
CLEAN = {
    "docs/README.md": "# Index\n[a](a.md#two-words) [c](configuration.md)\n",
    "docs/a.md": "# A\n## Two words\n<!-- cut: examples/x.cpp part -->\n```cpp\nint x;\n```\n",
    "docs/configuration.md": "# C\n| `TENON_KNOWN` | x |\n",
    "examples/x.cpp": "// docs:begin part\n  int x;\n// docs:end part\n",
    "loader/a.cpp": 'getenv("TENON_KNOWN");\n',
}


def run_on(changes, *options):
    with tempfile.TemporaryDirectory() as root:
        for name, text in {**CLEAN, **changes}.items():
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
        done = subprocess.run([sys.executable, SCRIPT, *options, root], capture_output=True, text=True, check=False)
        with open(os.path.join(root, "docs", "a.md"), encoding="utf-8") as page:
            done.page = page.read()
        return done


class CheckDocs(unittest.TestCase):
    def assert_found(self, changes, words):
        done = run_on(changes)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn(words, done.stdout)

    def test_clean_docs_pass(self):
        done = run_on({})
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_a_link_to_a_missing_file_is_found(self):
        self.assert_found({"README.md": "x\n[b](docs/b.md)\n"}, "README.md:2: link to docs/b.md: there is no such file")

    def test_a_link_to_a_missing_heading_is_found(self):
        self.assert_found({"README.md": "[b](docs/a.md#gone)\n"}, "no heading with that anchor")

    def test_links_in_code_are_left_alone(self):
        done = run_on({"README.md": "`[b](gone.md)`\n```\n[b](gone.md)\n```\n"})
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_stale_cut_is_found_and_mended_on_request(self):
        stale = {"examples/x.cpp": "// docs:begin part\n  int y;\n// docs:end part\n"}
        self.assert_found(stale, "docs/a.md:3: the block differs from examples/x.cpp")
        self.assertIn("```cpp\nint y;\n```", run_on(stale, "--fix").page)

    def test_a_cut_from_a_missing_region_is_found(self):
        self.assert_found({"examples/x.cpp": "int x;\n"}, "no single region 'part'")

    def test_code_for_vendors_that_nothing_compiles_is_found(self):
        page = "# V\n```cpp\nint x;\n```\n"
        linked = {"docs/README.md": CLEAN["docs/README.md"] + "[v](vendor/v.md)\n"}
        self.assert_found({**linked, "docs/vendor/v.md": page}, "docs/vendor/v.md:2: code that is cut from no file")
        cut = page.replace("```cpp\n", "<!-- cut: examples/x.cpp part -->\n```cpp\n", 1)
        self.assertEqual(run_on({**linked, "docs/vendor/v.md": cut}).returncode, 0)

    def test_a_yaml_key_is_cut_with_what_is_below_it(self):
        page = "# A\n## Two words\n<!-- cut: manifest/ops/a.yaml One: -->\n```yaml\n```\n"
        done = run_on({"manifest/ops/a.yaml": "One:\n  a: 1\n\nTwo:\n  b: 2\n", "docs/a.md": page}, "--fix")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("```yaml\nOne:\n  a: 1\n```", done.page)

    def test_a_variable_without_a_row_is_found(self):
        self.assert_found({"loader/b.cpp": 'getenv("TENON_NEW");\n'}, "TENON_NEW is read but has no row")

    def test_a_macro_is_no_variable(self):
        done = run_on({"plugin_api/a.h": "#define TENON_NEW 1\n", "loader/b.cpp": 'print("TENON_NEW");\n'})
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_configuration_keys_are_those_of_the_loader(self):
        table = '    {"log.level", KeyKind::kEnum},\n    {"ops.*.target", KeyKind::kText},\n'
        rows = "# C\n| `TENON_KNOWN` | x |\n| `log.level` | |\n| `ops.<Op>.target` | |\n"
        done = run_on({"loader/src/config_keys.cpp": table, "docs/configuration.md": rows})
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        done = run_on({"loader/src/config_keys.cpp": table + '    {"new.key", KeyKind::kText},\n',
                       "docs/configuration.md": rows + "| `gone.key` | |\n"})
        self.assertIn("new.key has no row", done.stdout)
        self.assertIn("there is no key gone.key", done.stdout)

    def test_a_page_that_nothing_links_is_found(self):
        self.assert_found({"docs/orphan.md": "# O\n"}, "docs/orphan.md: not reached")


if __name__ == "__main__":
    unittest.main()
