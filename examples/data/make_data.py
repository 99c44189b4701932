#!/usr/bin/env python3
"""Writes the input data of the examples: hidden states as a transformer layer hands them to its norm.

hidden.npy   float32 [64, 512]: 64 tokens; most channels are near normal, eight are large in every token
             (as the outlier channels of trained models are), and token 0 is larger than the rest.
weight.npy   float32 [512]: the norm's learned scale, near 1.

Python's generator with a fixed seed, no library: the same bytes on every machine.
Usage: make_data.py [FOLDER]    default: the folder of this script
"""
import os
import random
import struct
import sys

ROWS, COLUMNS, OUTLIERS = 64, 512, 8


def write_npy(path, shape, values):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape!r}, }}"
    padding = -(10 + len(text) + 1) % 64
    header = (text + " " * padding + "\n").encode("latin-1")
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        out.write(struct.pack(f"<{len(values)}f", *values))


def main(arguments):
    folder = arguments[0] if arguments else os.path.dirname(os.path.abspath(__file__))
    source = random.Random(20260101)

    def normal(spread):  # the sum of twelve uniform numbers: close to normal, and exact on every platform
        return (sum(source.random() for _ in range(12)) - 6.0) * spread

    scales = [0.5 + source.random() for _ in range(COLUMNS)]
    for column in source.sample(range(COLUMNS), OUTLIERS):
        scales[column] *= 40.0
    hidden = []
    for row in range(ROWS):
        factor = 8.0 if row == 0 else 1.0
        hidden += [normal(scale * factor) for scale in scales]
    write_npy(os.path.join(folder, "hidden.npy"), (ROWS, COLUMNS), hidden)
    write_npy(os.path.join(folder, "weight.npy"), (COLUMNS,), [1.0 + normal(0.05) for _ in range(COLUMNS)])


if __name__ == "__main__":
    main(sys.argv[1:])
