"""check_comments.py sees declarations without a comment, and leaves documented ones alone."""
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(__file__), "..", "..", "scripts", "check_comments.py")


def check_header(text, name="core/include/tenon/core/a.hpp"):
    with tempfile.TemporaryDirectory() as root:
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True, check=False)


class CheckComments(unittest.TestCase):
    def test_documented_declarations_pass(self):
        done = check_header("// Things.\n#pragma once\nnamespace tenon {\n\n/// A thing.\nstruct Thing {\n  int x;\n\n"
                            "  void f();\n};\n\n/// Does.\nint g(int a,\n      int b);\nint h();\n\n}  // namespace tenon\n")
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_a_function_without_a_comment_is_found(self):
        done = check_header("// Things.\n#pragma once\nnamespace tenon {\n\nint f();\n\n}\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("a.hpp:5: no comment block: int f();", done.stdout)

    def test_a_type_after_a_blank_line_needs_its_own_comment(self):
        done = check_header("// Things.\n/// One.\nstruct A {\n  int x;\n};\n\nstruct B {\n  int y;\n};\n")
        self.assertIn("a.hpp:7: no comment block: struct B {", done.stdout)
        self.assertNotIn("a.hpp:3", done.stdout)

    def test_members_and_bodies_are_no_declarations_of_the_namespace(self):
        done = check_header("// Things.\n/// One.\ninline int f(int a) {\n  int b = a;\n\n  return b;\n}\n")
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_a_macro_without_a_comment_is_found_and_the_guard_is_not(self):
        done = check_header("/* Things. */\n#ifndef TENON_X_H\n#define TENON_X_H\n\n#define TENON_FOO 1\n\n#endif\n",
                            "plugin_api/include/tenon/x.h")
        self.assertIn("macro TENON_FOO", done.stdout)
        self.assertNotIn("TENON_X_H", done.stdout)

    def test_a_brace_in_a_string_does_not_move_the_scope(self):
        done = check_header('// Things.\n/// One.\ninline const char* f() { return "{"; }\n\nint g();\n')
        self.assertIn("a.hpp:5", done.stdout)

    def test_details_and_definitions_of_declared_functions_need_no_comment(self):
        done = check_header("// Things.\nnamespace tenon {\ninline namespace sdk {\n\nnamespace detail {\nstruct Hidden {};\n"
                            "}  // namespace detail\n\n/// Does.\nint f();\n\nstruct A;\n\ninline int f() {\n"
                            "  return 1;\n}\n\ninline int A::g() const { return 2; }\n\n}\n}\n")
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_a_file_that_does_not_say_its_job_is_found(self):
        done = check_header("#pragma once\n")
        self.assertIn("first line", done.stdout)


if __name__ == "__main__":
    unittest.main()
