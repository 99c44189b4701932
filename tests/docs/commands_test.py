#!/usr/bin/env python3
"""Every tenon command that the documentation mentions is one that the command has, and the reference pages' run.

Usage: commands_test.py TENON ROOT
"""
import os
import re
import shlex
import subprocess
import sys

MENTION = re.compile(r"(?:`|^\s*)tenon ([a-z][a-z-]*[a-z])(?: ([a-z]+)\b)?", re.M)


def pages_of(root):
    yield os.path.join(root, "README.md")
    for base, _, files in os.walk(os.path.join(root, "docs")):
        yield from (os.path.join(base, name) for name in sorted(files) if name.endswith(".md"))


def main(tenon, root):
    text = subprocess.run([tenon, "--help"], capture_output=True, text=True, check=True).stdout
    commands = set(re.findall(r"^  ([a-z][a-z-]*[a-z](?: [a-z]+)?)  +\S", text, flags=re.M))
    if len(commands) < 3:
        print(f"'tenon --help' lists {len(commands)} commands: is its layout another one?")
        return 1
    groups = {name.split()[0] for name in commands if " " in name}
    bad = seen = 0
    for page in pages_of(root):
        with open(page, encoding="utf-8") as source:
            content = source.read()
        for match in MENTION.finditer(content):
            first, second = match.groups()
            if first in ("command", "COMMAND"):
                continue
            seen += 1
            known = f"{first} {second}" in commands or (first in commands and not (second and first in groups and second != "list"))
            if not known:
                line = content.count("\n", 0, match.start(1)) + 1
                print(f"{os.path.relpath(page, root)}:{line}: there is no command 'tenon {first} {second or ''}'")
                bad += 1
    reference = os.path.join(root, "docs", "reference")
    ran = 0
    for name in sorted(os.listdir(reference)):
        with open(os.path.join(reference, name), encoding="utf-8") as source:
            lines = [line for line in source.read().splitlines() if line.startswith("tenon infer ")]
        for line in lines:
            ran += 1
            result = subprocess.run([tenon] + shlex.split(line)[1:], capture_output=True, text=True, check=False)
            if result.returncode != 0:
                print(f"docs/reference/{name}: '{line}' fails: {result.stderr.strip()}")
                bad += 1
    if ran == 0:
        print("no reference page shows a command: the pattern is wrong")
        return 1
    if seen == 0:
        print("no command is mentioned at all: the pattern is wrong")
    return 1 if bad or not seen else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
