#!/usr/bin/env python3
"""Prints the rows of tenon_gpu_bench beside those of bench_torch.py: bench_table.py FILE.jsonl..."""

import json
import sys


def main():
    rows = {}
    others = []
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            for line in file:
                if not line.startswith("{"):
                    continue
                entry = json.loads(line)
                name = entry.pop("row", None)
                if name is None or "launches" in name:
                    others.append({"row": name, **entry} if name else entry)
                else:
                    rows.setdefault(name, {}).update(entry)
    print(f"{'row':28} {'kernel':16} {'us':>9} {'p10':>8} {'p90':>8} {'GB/s':>6} {'TFLOP/s':>8} "
          f"{'eager us':>9} {'compiled':>9} {'peer/us':>8}")
    for name, row in rows.items():
        peers = [row[key] for key in ("eager_us", "compiled_us") if key in row]
        ratio = f"{min(peers) / row['us']:8.2f}" if peers and "us" in row else f"{'':8}"
        print(f"{name:28} {row.get('kernel', ''):16} {row.get('us', float('nan')):9.2f} "
              f"{row.get('p10_us', float('nan')):8.2f} {row.get('p90_us', float('nan')):8.2f} "
              f"{row.get('gb_per_s', 0):6.0f} {row.get('tflop_per_s', 0):8.1f} "
              f"{row.get('eager_us', float('nan')):9.2f} {row.get('compiled_us', float('nan')):9.2f} {ratio}")
    for entry in others:
        print(json.dumps(entry))


main()
