#!/usr/bin/env python3
"""Prints the rows of tenon_gpu_bench beside those of bench_torch.py: bench_table.py FILE.jsonl..."""

import json
import statistics
import sys


def print_launches(launches):
    """Medians of what was measured several times, and the two ratios that have goals."""
    medians = {}
    for name, entries in launches.items():
        medians[name] = {key: statistics.median(entry[key] for entry in entries) for key in ("calls_per_s", "replay_us")}
        rates = sorted(entry["calls_per_s"] for entry in entries)
        print(f"{name}: {medians[name]['calls_per_s']:,.0f} a second ({rates[0]:,} to {rates[-1]:,}, {len(rates)} runs), "
              f"replayed in {medians[name]['replay_us']:.3f} us")
    for name, bare in list(medians.items()):
        own = medians.get(name.removeprefix("raw ")) if name.startswith("raw ") else None
        if own is None:
            continue
        for what, ratio, goal in (("rate of calls over bare launches", own["calls_per_s"] / bare["calls_per_s"], 0.9),
                                  ("bare replay over a call's", bare["replay_us"] / own["replay_us"], 0.98)):
            print(f"{what}: {ratio:.3f}, goal {goal} {'met' if ratio >= goal else 'MISSED'}")


def main():
    rows = {}
    others = []
    launches = {}
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            for line in file:
                if not line.startswith("{"):
                    continue
                entry = json.loads(line)
                name = entry.pop("row", None)
                if name is None:
                    others.append(entry)
                elif "launches" in name:
                    launches.setdefault(name, []).append(entry)
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
    print_launches(launches)
    for entry in others:
        print(json.dumps(entry))


main()
