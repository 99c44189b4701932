#!/usr/bin/env python3
"""The C++ of the reference pages compiles: each page's example becomes a function with its tensors as parameters.

Usage: examples_test.py ROOT SCRATCH_FILE COMPILER [OPTION...]
"""
import os
import re
import subprocess
import sys

BLOCK = re.compile(r"```cpp\n(.*?)```", re.S)
TENSOR = re.compile(r'\{"(\w+)", (\w+)\}')
CALL = re.compile(r"= op\(([^)]*)\);")


def main(root, scratch, compiler, *options):
    reference = os.path.join(root, "docs", "reference")
    text = "#include <tenon/ops.hpp>\n#include <tenon/tenon.hpp>\n"
    count = 0
    for name in sorted(os.listdir(reference)):
        with open(os.path.join(reference, name), encoding="utf-8") as page:
            blocks = BLOCK.findall(page.read())
        for block in blocks:
            count += 1
            tensors = {arg.strip() for args in CALL.findall(block) for arg in args.split(",")} - {"", "std::nullopt"}
            parameters = [f"const tenon::Tensor& {tensor}" for tensor in sorted(tensors)]
            if re.search(r"\bout\b", block):
                parameters.append("const tenon::Tensor& out")
            text += f"\n// {name}\nvoid example_{count}({', '.join(['const tenon::Runtime& runtime'] + parameters)}) {{\n{block}}}\n"
    if count == 0:
        print("no reference page has an example: the pattern is wrong")
        return 1
    with open(scratch, "w", encoding="utf-8") as file:
        file.write(text)
    return subprocess.run([compiler, "-std=c++20", "-fsyntax-only", *options, scratch], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
