"""abi_diff.py takes the header of today and appended fields, and refuses each kind of change that breaks plugins."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
SCRIPT = os.path.join(ROOT, "scripts", "abi_diff.py")
HEADER = os.path.join(ROOT, "plugin_api", "include", "tenon", "plugin.h")


def compare(old="", new=""):
    """Runs the script on a copy of the header in which one text, found once, is replaced."""
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "tenon"))
        with open(HEADER, encoding="utf-8") as file:
            text = file.read()
        if old and text.count(old) != 1:
            raise AssertionError(f"{text.count(old)} times in the header: {old}")
        with open(os.path.join(root, "tenon", "plugin.h"), "w", encoding="utf-8") as out:
            out.write(text.replace(old, new) if old else text)
        return subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True, check=False)


class AbiDiff(unittest.TestCase):
    def assert_taken(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def assert_broken(self, done, words):
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn(words, done.stdout)

    def test_the_header_of_today_is_that_of_the_baseline(self):
        done = compare()
        self.assert_taken(done)
        self.assertIn("are those of tests/golden/abi/witness_v", done.stdout)

    def test_a_field_at_the_end_of_a_struct_that_may_grow_is_taken(self):
        done = compare("  char text[256];     /* one sentence */\n",
                       "  char text[256];     /* one sentence */\n  uint64_t added;\n")
        self.assert_taken(done)
        self.assertIn("'uint64_t added'", done.stdout)

    def test_a_new_struct_is_taken(self):
        self.assert_taken(compare("/* ---- Builder targets",
                                  "typedef struct tenon_novelty {\n  uint64_t struct_size;\n} tenon_novelty;\n"
                                  "/* ---- Builder targets"))

    def test_another_type_of_a_field_is_refused(self):
        self.assert_broken(compare("  uint32_t warp_size;  /*", "  int32_t warp_size;  /*"),
                           "tenon_device: type 'typedef uint32_t' of 'tenon_device::warp_size' changed")

    def test_a_field_in_the_middle_is_refused(self):
        self.assert_broken(compare("  uint32_t unit_count; /*", "  uint64_t inserted;\n  uint32_t unit_count; /*"),
                           "tenon_device.inserted is not at the end")

    def test_a_field_that_is_gone_is_refused(self):
        self.assert_broken(compare("  uint64_t memory_bytes;\n", ""), "data member deletion")

    def test_fields_that_change_places_are_refused(self):
        self.assert_broken(compare("  uint32_t abi_major;\n  uint32_t abi_minor;\n  void* context; /* the host's */\n",
                                   "  uint32_t abi_minor;\n  uint32_t abi_major;\n  void* context; /* the host's */\n"),
                           "offset changed")

    def test_a_frozen_struct_that_grows_is_refused(self):
        self.assert_broken(compare("  uint32_t reserved;\n} tenon_arg_facts;",
                                   "  uint32_t reserved;\n  uint64_t added;\n} tenon_arg_facts;"),
                           "tenon_arg_facts is frozen")

    def test_another_parameter_of_a_function_of_a_table_is_refused(self):
        self.assert_broken(compare("uint64_t budget_ns,", "uint32_t budget_ns,"), "'tenon_kernel::tune' changed")

    def test_an_appended_field_hides_no_other_change(self):
        done = compare("  int32_t arg_index; /* argument at fault, or -1 */\n  tenon_value expected;\n"
                       "  tenon_value actual;\n  char attribute[64]; /* what of the call is at fault, such as \"n\" or "
                       "\"layout\" */\n  char text[256];     /* one sentence */\n",
                       "  uint32_t arg_index;\n  tenon_value expected;\n  tenon_value actual;\n  char attribute[64];\n"
                       "  char text[256];\n  uint64_t added;\n")
        self.assert_broken(done, "'tenon_reason::arg_index' changed")

    def test_a_word_that_is_no_option_is_wrong_usage(self):
        done = subprocess.run([sys.executable, SCRIPT, "--bad"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    if shutil.which("abidiff") is None or shutil.which("cc") is None:
        print("skipped: abidiff is not installed (abigail-tools), or there is no cc")
        sys.exit(77)
    unittest.main()
