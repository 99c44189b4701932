#!/usr/bin/env python3
"""Fails when code beyond the baseline architecture lies where it runs before an architecture was chosen (D98).

Wide-vector instructions may stand only in functions compiled for a level, whose names end in _v3 or _v4. So
static initialisers, the entry functions, refusals and builds hold none, and loading on an old processor is safe.

Usage: check_baseline.py OBJDUMP FILE    exit 0: clean, 1: findings, 2: wrong usage, 77: not an x86-64 file
"""
import re
import subprocess
import sys

FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
# VEX and EVEX code: every mnemonic of it begins with v (verr, verw and the vm* of virtualisation aside), or
# names a mask or a wide register.
WIDE = re.compile(r"^\s*[0-9a-f]+:\s+(?:v(?!er[rw]\b|m(?:call|launch|resume|xo|ptr|read|write|clear|func))\w+|.*%[yz]mm|.*%k[0-7])")
LEVEL = re.compile(r"_v[34]\b|_v[34]I")


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    objdump, path = arguments
    text = subprocess.run([objdump, "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True).stdout
    if "x86-64" not in text.split("\n", 3)[1]:
        return 77
    function, wide_in, functions = "", {}, 0
    for line in text.splitlines():
        match = FUNCTION.match(line)
        if match:
            function, functions = match.group(1), functions + 1
        elif WIDE.match(line):
            wide_in[function] = wide_in.get(function, 0) + 1
    wrong = {name: count for name, count in wide_in.items() if not LEVEL.search(name)}
    for name, count in sorted(wrong.items()):
        print(f"{name}: {count} instructions beyond the baseline")
    # A plugin without any wide code would pass this test for the wrong reason.
    if functions == 0 or not wide_in:
        print(f"{path}: {functions} functions, of which none has code of a level: nothing was checked")
        return 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
