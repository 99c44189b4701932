#!/usr/bin/env python3
"""Prints the rows of tenon_gpu_bench beside those of bench_torch.py: bench_table.py FILE.jsonl..."""

import json
import statistics
import sys


def print_launches(launches):
    """Medians over processes, and the two ratios that have goals."""
    for name, entries in launches.items():
        def median(key):
            return statistics.median(entry[key] for entry in entries)
        print(f"{name}, {len(entries)} processes: {median('calls_per_s'):,.0f} calls a second, "
              f"the built kernel alone {median('built_per_s'):,.0f}, replayed in {median('replay_us'):.3f} us")
        entries = [entry for entry in entries if "ratio" in entry]
        if not entries:
            continue
        ratios = sorted(entry["ratio"] for entry in entries)
        print(f"bare launches, in turn with them: {median('bare_per_s'):,.0f} a second, replayed in {median('bare_replay_us'):.3f} us")
        for what, ratio, goal in (
                (f"rate of calls over bare launches ({ratios[0]:.3f} to {ratios[-1]:.3f})", median("ratio"), 0.9),
                ("bare replay over a call's", median("bare_replay_us") / median("replay_us"), 0.98)):
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
