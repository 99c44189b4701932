#!/usr/bin/env python3
"""Compares the types of plugin.h with those of the last release, by abidiff of a typed witness.

A witness is a shared object with one function for each struct of the header, so that its debug information reaches
every type. Accepted: structs that grew at their end (but no frozen one), and new structs. Anything else breaks
plugins that exist.

Usage: abi_diff.py [--update] [INCLUDE]
  INCLUDE    folder with tenon/plugin.h; default: plugin_api/include
  --update   writes the baseline, tests/golden/abi/witness_vMAJOR.abi, from this header; for a release
exit 0: nothing changed, or only what may; 1: an incompatible change; 2: wrong usage; 77: a tool is missing
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Held by value or in arrays, or foreign by birth: these never grow. The same list as in tests/abi/layout.py.
FROZEN = {"tenon_str", "tenon_dtype", "tenon_tensor", "tenon_value", "tenon_arg_facts", "tenon_field", "tenon_arg",
          "tenon_storage", "tenon_option", "tenon_note"}
SUMMARY = re.compile(r"^(Leaf changes summary|Changed leaf types summary): |"
                     r"^Removed/Changed/Added (functions|variables) summary: 0 Removed, 0 Changed, \d+ Added ")
ADDED = re.compile(r"^\d+ Added (functions?|variables?):$|^\[A\] ")
STRUCT = re.compile(r"^'struct (\w+)(?: at .*)?' changed:$")
GREW = re.compile(r"^type size changed from (\d+) to (\d+) \(in bits\)$")
HEADING = re.compile(r"^\d+ data member insertions?:$|^there are data member changes:$|^type size hasn't changed$")
INSERTED = re.compile(r"^'.* (\w+)', at offset (\d+) \(in bits\)")


def structs_of(header):
    with open(header, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", file.read(), flags=re.S)
    return re.findall(r"typedef struct (tenon_\w+) \{.*?\n\} \1;", text, flags=re.S)


def major_of(header):
    with open(header, encoding="utf-8") as file:
        return re.search(r"^#define TENON_ABI_MAJOR (\d+)u$", file.read(), flags=re.M).group(1)


def build_witness(include, folder):
    names = structs_of(os.path.join(include, "tenon", "plugin.h"))
    if len(names) < 20:
        raise SystemExit(f"{include}/tenon/plugin.h: only {len(names)} structs found; has its form changed?")
    lines = ['#include "tenon/plugin.h"']
    for name in names:
        witness = f"{name} *tenon_abi_witness_{name[len('tenon_'):]}({name} *it)"
        lines.append(f'__attribute__((visibility("default"))) {witness};\n{witness} {{ return it; }}')
    source, library = os.path.join(folder, "abi_witness.c"), os.path.join(folder, "abi_witness.so")
    with open(source, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")
    subprocess.run(["cc", "-std=c11", "-g", "-fPIC", "-shared", "-fvisibility=hidden", "-I", os.path.abspath(include),
                    os.path.basename(source), "-o", library], check=True, cwd=folder)
    return library


def incompatible_lines(report):
    """The lines of an abidiff report on leaf changes that tell of more than appended fields and new types."""
    found, struct, old_bits = [], None, 0
    for line in report.split("\n"):
        text = line.strip()
        if not text or SUMMARY.match(text) or ADDED.match(text) or HEADING.match(text):
            continue
        if match := STRUCT.match(text):
            struct = match.group(1)
            old_bits = 0
            if struct in FROZEN:
                found.append(f"{struct} is frozen and must not change")
        elif match := GREW.match(text):
            old_bits = int(match.group(1))
            if int(match.group(2)) <= old_bits:
                found.append(f"{struct}: {text}")
        elif match := INSERTED.match(text):
            if old_bits == 0 or int(match.group(2)) < old_bits:
                found.append(f"{struct}.{match.group(1)} is not at the end: {text}")
        else:
            found.append(f"{struct}: {text}" if struct else text)
    return found


def compare(baseline, library):
    done = subprocess.run(["abidiff", "--leaf-changes-only", baseline, library],
                          capture_output=True, text=True, check=False)
    # Bits of abidiff's status: 1 error, 2 usage, 4 change, 8 incompatible change of the symbols.
    if done.returncode & 3:
        raise SystemExit(f"abidiff failed:\n{done.stdout}{done.stderr}")
    if done.returncode == 0:
        print(f"the types of plugin.h are those of {os.path.relpath(baseline, ROOT)}")
        return 0
    report = done.stdout.strip()
    broken = incompatible_lines(report)
    if not broken and not done.returncode & 8:
        print(f"fields or types were added, which breaks no plugin:\n{report}")
        return 0
    print("\n".join(broken))
    print(f"\nThis breaks plugins that were built before. A field may only be added at the end of a struct that is not "
          f"frozen;\nwhile the ABI's major is 0, take a new minor and then run {os.path.basename(__file__)} --update.\n"
          f"The whole report:\n{report}")
    return 1


def main(arguments):
    update = "--update" in arguments
    rest = [a for a in arguments if a != "--update"]
    if len(rest) > 1 or any(a.startswith("-") for a in rest):
        print(__doc__, file=sys.stderr)
        return 2
    for tool, package in (("abidiff", "abigail-tools"), ("abidw", "abigail-tools"), ("cc", "gcc")):
        if shutil.which(tool) is None:
            print(f"skipped: {tool} is not installed ({package})")
            return 77
    include = rest[0] if rest else os.path.join(ROOT, "plugin_api", "include")
    major = major_of(os.path.join(include, "tenon", "plugin.h"))
    baseline = os.path.join(ROOT, "tests", "golden", "abi", f"witness_v{major}.abi")
    with tempfile.TemporaryDirectory() as folder:
        library = build_witness(include, folder)
        if update:
            subprocess.run(["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--out-file", baseline,
                            library], check=True)
            print(f"written: {os.path.relpath(baseline, ROOT)}")
            return 0
        if not os.path.exists(baseline):
            print(f"{os.path.relpath(baseline, ROOT)} is missing: a release writes it with --update")
            return 1
        return compare(baseline, library)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
