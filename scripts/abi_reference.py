#!/usr/bin/env python3
"""Writes docs/vendor/abi-reference.md: the comments of the C header, and the layout of its structs.

Usage: abi_reference.py [--check] [ROOT]    --check compares instead of writing
exit 0: written, or the page is as it should be, 1: it is not, 2: wrong usage, or a header that is not understood
"""
import os
import re
import sys

HEADER = "plugin_api/include/tenon/plugin.h"
LAYOUT = "tests/golden/abi/layout_v0.txt"
PAGE = "docs/vendor/abi-reference.md"

LABEL = re.compile(r"^(Shape|Memory|Owner|Threads|Errors|Source|OK|REFUSED|below 0) {2,}(.*)$")
SECTION = re.compile(r"^/\* -{4} (.*?) -+ \*/$")
STRUCT = re.compile(r"^typedef struct (\w+) \{$")
FUNCTION = re.compile(r"^(.*?)\(\*(\w+)\)\((.*)\);$")
FIELD = re.compile(r"^(.*?[ *])(\w+(?:\[\w+\])?);$")
ALIAS = re.compile(r"^typedef (\w+) (\w+);$")
DEFINE = re.compile(r"^#define (TENON_\w+(?:\([^)]*\))?)(?:\s+(.*))?$")
TRAILING = re.compile(r"^(.*?)\s*/\* (.*?) \*/$")


class NotUnderstood(Exception):
    pass


def logical_lines(text):
    """(number, line) with continued macros and declarations over several lines made into one."""
    lines, number = text.split("\n"), 0
    while number < len(lines):
        first, line = number + 1, lines[number]
        while line.endswith("\\"):
            number += 1
            line = line[:-1].rstrip() + " " + lines[number].strip()
        code = line.strip()
        opens = code and not code.startswith(("#", "/", "*", "}", "{")) and not code.endswith("{")
        while opens and ";" not in line:
            number += 1
            line = line.rstrip() + " " + lines[number].strip()
        yield first, line.rstrip()
        number += 1


def code_and_comment(line):
    match = TRAILING.match(line.strip())
    return (match.group(1), match.group(2)) if match else (line.strip(), "")


def prose(doc):
    """A /// block: its sentences as a paragraph, its labelled parts as a list."""
    parts = [("", [])]
    for line in doc:
        match = LABEL.match(line)
        if match:
            parts.append((match.group(1), [match.group(2)]))
        else:
            parts[-1][1].append(line)
    text = []
    for label, lines in parts:
        joined = " ".join(line.strip() for line in lines if line.strip())
        joined = joined.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
        if joined:
            text.append(f"- **{label}**: {joined}" if label else joined)
    paragraphs = [line for line in text if not line.startswith("- ")]
    items = [line for line in text if line.startswith("- ")]
    return "\n\n".join(paragraphs + (["\n".join(items)] if items else []))


def signature(result, name, arguments):
    """One line, or one line an argument where that would be long."""
    arguments = [re.sub(r"\s+", " ", argument).strip() for argument in arguments.split(",")]
    line = f"{result} {name}({', '.join(arguments)})"
    return line if len(line) <= 100 else f"{result} {name}(\n    " + ",\n    ".join(arguments) + ")"


def cell(text):
    return text.replace("|", "\\|")


class Page:
    def __init__(self, layout):
        self.layout = layout  # {struct: {field or "sizeof": (offset, size)}}
        self.out = []
        self.doc = []
        self.constants = []
        self.struct = None

    def add(self, *blocks):
        self.out += [block for block in blocks if block]

    # A group of constants: the comment before the first, then a table of all that follow at once.
    def end_constants(self):
        if not self.constants:
            return
        doc, rows = self.constants
        self.constants = []
        self.add(prose(doc))
        self.add("| macro | value | |\n| --- | --- | --- |\n" + "\n".join(rows))

    def define(self, line):
        code, comment = code_and_comment(line)
        name, value = DEFINE.match(code).groups()
        if name == "TENON_PLUGIN_H":
            return
        if self.doc and self.constants:
            self.end_constants()
        if not self.constants:
            self.constants = [self.doc, []]
        self.doc = []
        value = value or ""
        shown = f"`{value}`" if value and len(value) <= 60 else ""
        row = f"| `{name}` | {cell(shown)} | {cell(comment)} |"
        earlier = [i for i, other in enumerate(self.constants[1]) if other.startswith(f"| `{name}` |")]
        if not earlier:
            self.constants[1].append(row)
        elif "_TEST_" in self.constants[1][earlier[0]]:  # the other branch is what a user gets
            self.constants[1][earlier[0]] = row
        elif row != self.constants[1][earlier[0]] and shown:
            self.constants[1][earlier[0]] = f"| `{name}` |  | depends on the compiler and the build |"

    def begin_struct(self, name):
        self.end_constants()
        if name not in self.layout:
            raise NotUnderstood(f"{LAYOUT} has no struct {name}")
        self.struct = name
        self.fields, self.functions = [], []
        self.add(f"### {name}", prose(self.doc))
        self.doc = []

    def member(self, number, line):
        code, comment = code_and_comment(line)
        if comment and not code:
            return
        function = FUNCTION.match(code)
        if function:
            result, name, arguments = function.groups()
            self.functions.append((name, signature(result.strip(), name, arguments), self.doc))
            self.doc = []
            declared = f"{name}()"
        else:
            field = FIELD.match(code)
            if not field:
                raise NotUnderstood(f"{HEADER}:{number}: no field or function: {line.strip()}")
            name, declared = field.group(2).split("[")[0], ""
            if self.doc:
                comment = " ".join(self.doc + [comment]).strip()
                self.doc = []
        if name not in self.layout[self.struct]:
            raise NotUnderstood(f"{LAYOUT} has no field {name} of {self.struct}")
        offset, size = self.layout[self.struct][name]
        shown = declared or f"{field.group(1).strip()} {field.group(2)}"
        self.fields.append(f"| {offset} | {size} | `{shown}` | {cell(comment)} |")

    def end_struct(self):
        size = self.layout[self.struct]["sizeof"][1]
        missing = len(self.layout[self.struct]) - 1 - len(self.fields)
        if missing:
            raise NotUnderstood(f"{self.struct}: {missing} fields of {LAYOUT} are not in the header")
        self.add("| offset | bytes | field | |\n| --- | --- | --- | --- |\n" + "\n".join(self.fields)
                 + f"\n| {size} | | end | |")
        shared = []
        for index, (name, signature, doc) in enumerate(self.functions):
            shared.append((name, signature))
            if index + 1 < len(self.functions) and not self.functions[index + 1][2]:
                if doc:
                    first_doc = doc
                    shared = [(name, signature)]
                continue  # one comment for several functions
            if doc:
                first_doc, shared = doc, [(name, signature)]
            titles = ", ".join(n for n, _ in shared)
            self.add(f"#### {self.struct}: {titles}", "```c\n" + "\n".join(f"{s};" for _, s in shared) + "\n```",
                     prose(first_doc))
            shared = []
        self.struct = None


def read_layout(root):
    layout = {}
    with open(os.path.join(root, LAYOUT), encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("#") and line.strip():
                struct, field, offset, size = line.split()
                layout.setdefault(struct, {})[field] = (int(offset), int(size))
    return layout


def page_of(root):
    with open(os.path.join(root, HEADER), encoding="utf-8") as source:
        text = source.read()
    page = Page(read_layout(root))
    opening = re.match(r"/\*(.*?)\*/", text, flags=re.S)
    if not opening:
        raise NotUnderstood(f"{HEADER}: the opening comment is missing")
    lines = [re.sub(r"^ \* ?", "", line).rstrip() for line in opening.group(1).strip("\n").split("\n")]
    page.add("# ABI reference",
             "<!-- Generated from the header and the layout table by scripts/abi_reference.py: edit those. -->",
             f"Every declaration of [`tenon/plugin.h`](../../{HEADER}), with offsets and sizes on x86-64 Linux. "
             "The rules that hold across declarations are explained in [the ABI](../abi.md).",
             "```text\n" + "\n".join(lines).strip() + "\n```")
    body = text[opening.end():]
    skipped = text[:opening.end()].count("\n")
    for number, line in logical_lines(body):
        number += skipped
        stripped = line.strip()
        section = SECTION.match(stripped)
        if section:
            page.end_constants()
            page.add(f"## {section.group(1)}")
        elif stripped.startswith("///"):
            page.doc.append(stripped[3:].removeprefix(" "))
        elif page.struct:
            if stripped.startswith("}"):
                page.end_struct()
            elif stripped:
                page.member(number, line)
        elif DEFINE.match(stripped):
            page.define(stripped)
        elif STRUCT.match(stripped):
            page.begin_struct(STRUCT.match(stripped).group(1))
        elif ALIAS.match(stripped):
            page.end_constants()
            page.add(f"### {ALIAS.match(stripped).group(2)}", f"`{stripped}`", prose(page.doc))
            page.doc = []
        elif stripped.startswith("extern TENON_EXPORT"):
            page.end_constants()
            page.add("### The exported object", f"```c\n{stripped}\n```", prose(page.doc))
            page.doc = []
        elif not stripped:
            page.end_constants()
            page.doc = []
    if page.doc or page.struct:
        raise NotUnderstood(f"{HEADER}: ends inside a declaration")
    return "\n\n".join(page.out) + "\n"


def main(arguments):
    check = "--check" in arguments
    rest = [argument for argument in arguments if argument != "--check"]
    if len(rest) > 1 or any(argument.startswith("-") for argument in rest):
        print(__doc__.strip().split("\n\n")[1], file=sys.stderr)
        return 2
    root = rest[0] if rest else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    try:
        text = page_of(root)
    except (NotUnderstood, OSError) as error:
        print(f"abi_reference.py: {error}", file=sys.stderr)
        return 2
    path = os.path.join(root, PAGE)
    if not check:
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return 0
    present = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as page:
            present = page.read()
    if present != text:
        print(f"{PAGE}: not what the header says now; run scripts/abi_reference.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
