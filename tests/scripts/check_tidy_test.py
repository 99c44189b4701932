"""check_tidy.py reports findings, and leaves out only what it would read exactly as when it passed."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "scripts", "check_tidy.py"))

# Finds the word BAD in a source or in the header beside it, and counts how often it reads a source.
CLANG_TIDY = """#!/bin/sh
case $1 in
  --version) echo "version $VERSION"; exit 0 ;;
  --dump-config) cat settings; exit 0 ;;
esac
for file; do :; done
echo "$file" >>reads
echo '7 warnings generated.' >&2
if cat "$file" header.hpp | grep -q BAD; then echo "$file:1:1: error: BAD"; exit 1; fi
"""
CLANG = """#!/bin/sh
cat a.cpp header.hpp
"""


class CheckTidy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        self.write("build/compile_commands.json", json.dumps(
            [{"directory": self.root, "file": os.path.join(self.root, "a.cpp"), "command": "c++ -O0 -o a.o -c a.cpp"}]))
        for name, text in (("clang-tidy", CLANG_TIDY), ("clang++", CLANG)):
            self.write("bin/" + name, text)
            os.chmod(os.path.join(self.root, "bin", name), 0o755)
        self.write("settings", "Checks: '*'\n")
        self.write("header.hpp", "int f();\n")
        self.write("a.cpp", "int a;\n")
        self.write("b.cpp", "BAD: no target compiles this one\n")

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)

    def run_check(self, version="1"):
        path = os.path.join(self.root, "bin") + os.pathsep + os.environ["PATH"]
        return subprocess.run([sys.executable, SCRIPT, "build", "a.cpp", "b.cpp"], cwd=self.root, check=False,
                              capture_output=True, text=True, env={**os.environ, "PATH": path, "VERSION": version})

    def reads(self):
        with open(os.path.join(self.root, "reads"), encoding="utf-8") as log:
            return len(log.readlines())

    def test_a_finding_is_printed_and_fails_every_time(self):
        self.write("a.cpp", "BAD\n")
        for count in (1, 2):
            done = self.run_check()
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("a.cpp:1:1: error: BAD", done.stdout)
            self.assertNotIn("warnings generated", done.stdout + done.stderr)
            self.assertEqual(self.reads(), count)

    def test_what_passed_is_not_read_again(self):
        self.assertEqual(self.run_check().returncode, 0)
        done = self.run_check()
        self.assertEqual((done.returncode, self.reads()), (0, 1), done.stderr)
        self.assertIn("1 files, 1 of them unchanged since they passed, 0 with findings", done.stdout)

    def test_a_change_of_a_header_the_settings_or_the_version_is_a_change(self):
        self.run_check()
        self.write("header.hpp", "int f(int);\n")
        self.assertEqual((self.run_check().returncode, self.reads()), (0, 2))
        self.write("settings", "Checks: '-*'\n")
        self.assertEqual((self.run_check().returncode, self.reads()), (0, 3))
        self.assertEqual((self.run_check(version="2").returncode, self.reads()), (0, 4))
        self.write("header.hpp", "BAD\n")
        self.assertEqual(self.run_check(version="2").returncode, 1)

    def test_without_a_preprocessor_everything_is_read(self):
        self.write("bin/clang++", "#!/bin/sh\nexit 1\n")
        for count in (1, 2):
            self.assertEqual((self.run_check().returncode, self.reads()), (0, count))


if __name__ == "__main__":
    unittest.main()
