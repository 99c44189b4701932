"""check_layers.py finds each kind of crossing, and nothing in a clean tree."""
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(__file__), "..", "..", "scripts", "check_layers.py")


def run_on(files):
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
        return subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True, check=False)


class CheckLayers(unittest.TestCase):
    def assert_found(self, name, text, words):
        done = run_on({name: text})
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn(words, done.stdout)

    def test_a_clean_tree_passes(self):
        done = run_on({
            "core/values/a.cpp": '#include "tenon/core/error.hpp"\n#include <vector>\n#include <fmt/format.h>\n',
            "loader/b.cpp": '#include <boost/dll.hpp>\n#include <sys/stat.h>\n#include <dlfcn.h>\n',
            "plugins/cpu/c.cpp": '#include <tenon/plugin.hpp>\n#include <tenon/contracts/norm.h>\n',
            "plugin_api/include/tenon/plugin.h": "#include <stdint.h>\n",
        })
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_core_may_not_see_the_manifest(self):
        self.assert_found("core/a.cpp", '#include "tenon/manifest/set.hpp"\n', "belongs to manifest")

    def test_core_may_not_use_a_library_of_the_loader(self):
        self.assert_found("core/a.cpp", "#include <boost/dll.hpp>\n", "third-party")

    def test_a_plugin_may_not_see_the_core(self):
        self.assert_found("plugins/cpu/a.cpp", '#include "tenon/core/tensor.hpp"\n', "belongs to core")

    def test_a_plugin_may_not_use_the_hosts_libraries(self):
        self.assert_found("plugins/cpu/a.cpp", "#include <fmt/format.h>\n", "not on fmt")

    def test_the_c_header_takes_two_headers_only(self):
        self.assert_found("plugin_api/include/tenon/plugin.h", "#include <string.h>\n", "only, not <string.h>")

    def test_tests_do_not_include_plugin_sources(self):
        done = run_on({"tests/a.cpp": '#include "../plugins/cpu/k.hpp"\n', "plugins/cpu/k.hpp": "\n"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("through the loader", done.stdout)

    def test_a_relative_path_does_not_hide_a_crossing(self):
        done = run_on({"core/a.cpp": '#include "../loader/l.hpp"\n', "loader/l.hpp": "\n"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("belongs to loader", done.stdout)

    def test_a_vendor_word_in_the_core_is_found_with_its_line(self):
        self.assert_found("core/a.cpp", "// fine\n// as on CUDA\n", "core/a.cpp:2: core names a vendor: 'CUDA'")

    def test_a_vendor_header_in_the_loader_is_found(self):
        self.assert_found("loader/a.cpp", "#include <vendor_runtime.h>\n", "neither a standard")

    def test_vendor_words_in_ops_are_allowed(self):
        done = run_on({"manifest/ops/a.yaml": "# cuda\n", "core/a.cpp": "\n"})
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_an_empty_tree_is_an_error(self):
        self.assertEqual(run_on({"README.md": "x"}).returncode, 2)


if __name__ == "__main__":
    unittest.main()
