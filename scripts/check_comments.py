#!/usr/bin/env python3
"""Fails when a public declaration has no comment block, or a source file does not say its job first.

Public: what stands at namespace scope in PART/include/tenon/**.{h,hpp}: types with a body, functions,
macros. A declaration that follows a commented one without a blank line between them shares its comment.

Usage: check_comments.py [ROOT]    exit 0: clean, 1: findings on stdout, 2: wrong usage
"""
import os
import re
import sys

PARTS = ("plugin_api", "core", "manifest", "loader")
SOURCES = (".h", ".hpp", ".cpp", ".c", ".cu", ".hip", ".py", ".sh", ".cmake")
JOB_FOLDERS = ("plugin_api", "core", "manifest", "loader", "plugins", "tests", "examples", "scripts")
NAMES_NOTHING = re.compile(
    r"^((inline )?namespace\b|using\b|#|\}|\{|extern \"\"|template\s*<[^;]*>\s*$|(class|struct|enum|enum class)\s+[\w:<>, ]+;"
    r"|typedef struct \w+ \w+;|struct \w+;|TENON_[A-Z_]*\(|static_assert|friend\b|_Static_assert|public:|private:)")


def strip(line, in_block):
    """A line without comments and literals; and whether a block comment is still open."""
    out, i = [], 0
    while i < len(line):
        if in_block:
            end = line.find("*/", i)
            if end < 0:
                return "".join(out), True
            i, in_block = end + 2, False
        elif line.startswith("//", i):
            break
        elif line.startswith("/*", i):
            in_block, i = True, i + 2
        elif line[i] in "\"'" and not (line[i] == "'" and i and line[i - 1].isalnum()):
            quote, i = line[i], i + 1
            while i < len(line) and line[i] != quote:
                i += 2 if line[i] == "\\" else 1
            out.append(quote + quote)
            i += 1
        else:
            out.append(line[i])
            i += 1
    return "".join(out), in_block


def undocumented(path):
    """Yields (line number, text) of declarations at namespace scope that no comment covers."""
    depth_kind = []          # 'n' for a namespace or extern "C" block, 'x' for any other brace and what is no one's
    documented = set()       # functions that were declared with a comment; a definition further down needs none
    in_block = in_statement = in_macro = False
    covered = False          # a comment, or a covered declaration, stands right above
    with open(path, encoding="utf-8") as text:
        for number, raw in enumerate(text, 1):
            line, in_block_after = strip(raw.rstrip("\n"), in_block)
            was_comment = (in_block or raw.lstrip().startswith(("//", "/*", "*"))) and not line.strip()
            in_block = in_block_after
            code = line.strip()
            if in_macro:
                in_macro = raw.rstrip().endswith("\\")
                continue
            if not code:
                covered = was_comment or (in_statement and covered)
                continue
            at_scope = all(kind == "n" for kind in depth_kind)
            if at_scope and not in_statement:
                macro = re.match(r"#\s*define\s+(TENON_\w+)(.*)", code)
                if macro:
                    guard = macro.group(1).endswith("_H") and not macro.group(2).strip()
                    trailing = "/*" in raw or "//" in raw
                    if not covered and not guard and not trailing:
                        yield number, f"macro {macro.group(1)}"
                    covered = True
                elif code.startswith("#"):
                    pass
                elif not NAMES_NOTHING.match(code) and not re.match(r"[\w\[\]<>,&* :]*\w::~?\w+\(", code):
                    name = re.search(r"(\w+)\(", code)
                    trailing = "///<" in raw
                    if not covered and not trailing and not (name and name.group(1) in documented):
                        yield number, code[:70]
                    covered = True
                    if name:
                        documented.add(name.group(1))
            if code.startswith("#"):
                in_macro = raw.rstrip().endswith("\\")
                continue
            namespace_line = re.match(r'^(inline )?namespace\b|^extern ""', code)
            private = re.match(r"^namespace(\s+detail)?\s*\{", code)  # not for users: no rule
            for character in code:
                if character == "{":
                    depth_kind.append("n" if namespace_line and not private else "x")
                elif character == "}" and depth_kind:
                    depth_kind.pop()
            at_scope_after = all(kind == "n" for kind in depth_kind)
            if code.startswith("template") and code.endswith(">"):
                in_statement = False
            else:
                in_statement = not (at_scope_after and (code.endswith((";", "}", "{")) or
                                                        namespace_line or NAMES_NOTHING.match(code)))
            if not at_scope_after:
                in_statement = True


def says_its_job(path):
    with open(path, encoding="utf-8") as text:
        lines = [text.readline() for _ in range(3)]
    if lines[0].startswith("#!"):
        lines = lines[1:]
    scripts = (".py", ".sh", ".cmake")
    return lines[0].startswith(("#", '"""') if path.endswith(scripts) else ("//", "/*"))


def files_under(folder):
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "build")) and f != "__pycache__")
        for name in sorted(files):
            yield os.path.join(base, name)


def main(arguments):
    if len(arguments) > 1:
        print(__doc__, file=sys.stderr)
        return 2
    root = os.path.abspath(arguments[0] if arguments else os.path.join(os.path.dirname(__file__), ".."))
    count = 0
    for part in PARTS:
        for path in files_under(os.path.join(root, part, "include")):
            if path.endswith((".h", ".hpp")):
                for number, text in undocumented(path):
                    print(f"{os.path.relpath(path, root)}:{number}: no comment block: {text}")
                    count += 1
    for folder in JOB_FOLDERS:
        for path in files_under(os.path.join(root, folder)):
            if path.endswith(SOURCES) and not says_its_job(path):
                print(f"{os.path.relpath(path, root)}:1: the first line does not say the file's job")
                count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
