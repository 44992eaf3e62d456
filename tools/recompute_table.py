#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures every recompute policy on a model and prints a Markdown table.

usage: tools/recompute_table.py [--reprise build/reprise] [--policies none,auto,...] MODEL [options of reprise bench]

ms is the median of the counted iterations. The measured peak is the highest byte that a kernel was given, beside what the plan
predicted for parameters, states and transients together; what libraries allocate themselves is predicted apart, and not among
them. Fails when a peak differs from its prediction, or when a policy changes a loss.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

POLICIES = "none,auto,ops,alternate,layers:2,full"
ALIGNMENT = 64  # the transient region starts at a multiple of it


def measure(reprise, policy, bench_options):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "bench.json")
        command = [reprise, "bench", *bench_options, "--recompute", policy, "--json", file, "--quiet"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with open(file, encoding="utf-8") as stream:
            return json.load(stream)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n")[2][len("usage: "):])
    parser.add_argument("--reprise", default="build/reprise")
    parser.add_argument("--policies", default=POLICIES)
    arguments, bench_options = parser.parse_known_args()

    print("| policy | ms | peak measured, bytes | planned | saved, MiB | values | recomputed operations |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    right = True
    losses = None
    for policy in arguments.policies.split(","):
        row = measure(arguments.reprise, policy, bench_options)
        persistent = -(-row["persistent_bytes"] // ALIGNMENT) * ALIGNMENT
        planned = persistent + row["transient_bytes"]
        if row["memory_used_bytes"] != planned:
            right = False
            print(f"{policy}: {row['memory_used_bytes']} bytes are used, {planned} are planned", file=sys.stderr)
        losses = losses or row["losses"]
        if row["losses"] != losses:
            right = False
            print(f"{policy}: other losses than the first policy's", file=sys.stderr)
        saved = row["saved_for_backward_bytes"] / 2**20
        print(f"| {policy} | {row['median_iter_time_ms']:.1f} | {row['memory_used_bytes']:,} | {planned:,} | {saved:.1f} | "
              f"{row['saved_for_backward_count']} | {row['recomputed_flops_percent']:.2f} % |", flush=True)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
