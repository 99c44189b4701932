#!/usr/bin/env python3
"""Runs clang-tidy over sources. One that passed is read again only when what it would read has changed.

Usage: check_tidy.py BUILD [-j N] FILE...    exit 0: clean, 1: findings, 2: wrong usage

BUILD has compile_commands.json. BUILD/tidy-passed/FILE holds the digest of what clang-tidy read when FILE passed:
the version, the settings, the command and the whole preprocessed text, comments and macros included. So a changed
header, option or NOLINT counts as a change of every source that sees it; delete the folder to read everything anew.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys

CHATTER = re.compile(r"^\d+ warnings? (generated|treated)|^Suppressed|^Use -header-filter")


def commands_of(build):
    """The arguments and the folder of every command, by the real path of its source."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as database:
        entries = json.load(database)
    commands = {}
    for entry in entries:
        path = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
        arguments = entry.get("arguments") or shlex.split(entry["command"])
        commands.setdefault(path, []).append((arguments, entry["directory"]))
    return commands


def preprocessor(arguments):
    """The command that prints what the given one compiles."""
    compiler = "clang" if arguments[-1].endswith(".c") else "clang++"
    kept, rest = [], iter(arguments[1:])
    for argument in rest:
        if argument == "-o":
            next(rest, None)
        elif argument != "-c":
            kept.append(argument)
    return [compiler, *kept, "-w", "-E", "-C", "-dD"]


def digest_of(path, build, commands, version):
    """Of all that decides what clang-tidy says about a source; None where it cannot be told."""
    digest = hashlib.sha256(version)
    settings = subprocess.run(["clang-tidy", "--dump-config", "-p", build, path], capture_output=True, check=False)
    digest.update(settings.stdout)
    for arguments, folder in commands:
        digest.update("\0".join(arguments).encode())
        try:
            text = subprocess.run(preprocessor(arguments), cwd=folder, capture_output=True, check=False)
        except FileNotFoundError:  # no clang here
            return None
        if text.returncode != 0:
            return None
        digest.update(text.stdout)
    return digest.hexdigest()


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def check(file, build, commands, version):
    """Returns what there is to print, whether the file passed, and whether it had passed before."""
    stamp = os.path.join(build, "tidy-passed", file)
    digest = digest_of(os.path.abspath(file), build, commands, version)
    if digest is not None and read(stamp) == digest:
        return "", True, True
    done = subprocess.run(["clang-tidy", "-p", build, "--quiet", "--warnings-as-errors=*", file],
                          capture_output=True, text=True, check=False)
    chatter = [line for line in done.stderr.splitlines(keepends=True) if not CHATTER.match(line)]
    if done.returncode != 0:
        return done.stdout + "".join(chatter), False, False
    if digest is not None:
        os.makedirs(os.path.dirname(stamp), exist_ok=True)
        with open(stamp, "w", encoding="utf-8") as out:
            out.write(digest)
    return done.stdout, True, False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("files", nargs="+", help="relative to the current folder")
    given = parser.parse_args()
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    known = commands_of(given.build)
    files = [file for file in given.files if os.path.realpath(file) in known]

    faulty, before = 0, 0
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        runs = [pool.submit(check, f, given.build, known[os.path.realpath(f)], version) for f in files]
        for run in concurrent.futures.as_completed(runs):
            text, passed, passed_before = run.result()
            sys.stdout.write(text)
            sys.stdout.flush()
            faulty += not passed
            before += passed_before
    print(f"clang-tidy: {len(files)} files, {before} of them unchanged since they passed, {faulty} with findings")
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main())
