#!/usr/bin/env python3
"""Fails when the documentation points at nothing or shows code that is not in the repository.

  links   a relative link names a file that exists, and its #anchor a heading of that file
  cuts    a block after <!-- cut: FILE REGION --> equals the lines of FILE between the comments
          "docs:begin REGION" and "docs:end REGION", indentation aside; a REGION that ends in ":" is a
          top-level key of a YAML file and all that is below it; without REGION the whole file
  code    C, C++ and CMake of the pages for vendors is cut, so that a test compiles it (the ABI reference is generated)
  names   every TENON_* environment variable that the sources spell has a row in docs/configuration.md, and the
          configuration keys there are those of the loader's table
  index   every page under docs/ is reached from docs/README.md

Usage: check_docs.py [--fix] [ROOT]    --fix rewrites cut blocks from their files
exit 0: clean, 1: findings on stdout, 2: wrong usage
"""
import os
import re
import sys
import textwrap

LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)")
VENDOR_CODE = re.compile(r"^```(c|cpp|c\+\+|cmake)\s*$")
GENERATED = os.path.join("docs", "vendor", "abi-reference.md")
CUT = re.compile(r"^<!-- cut: (\S+)(?: (\S+))? -->$")
ROW_VARIABLE = re.compile(r"^\|.*`(TENON_[A-Z][A-Z0-9_]*)`")
MACRO = re.compile(r"#\s*define\s+(TENON_[A-Z][A-Z0-9_]*)")


def read(path):
    with open(path, encoding="utf-8") as text:
        return text.read()


def pages_of(root):
    pages = [name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md") if os.path.isfile(os.path.join(root, name))]
    for base, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "build")))
        relative = os.path.relpath(base, root)
        if relative != ".":
            pages += [os.path.join(relative, name) for name in sorted(files) if name.endswith(".md")]
    return pages


def anchors_of(text):
    """Heading anchors as GitHub makes them."""
    found, seen = set(), {}
    for title in re.findall(r"^#{1,6} +(.+?)\s*$", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M), flags=re.M):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        count = seen.get(anchor, 0)
        seen[anchor] = count + 1
        found.add(anchor if count == 0 else f"{anchor}-{count}")
    return found


def links_in(text):
    for number, line in enumerate(without_code_lines(text), 1):
        for target in LINK.findall(line):
            yield number, target


def without_code_lines(text):
    inside = False
    for line in text.split("\n"):
        if line.startswith("```"):
            inside = not inside
            yield ""
        else:
            yield "" if inside else re.sub(r"`[^`]*`", "", line)


def check_links(root, page, findings, reached):
    text = read(os.path.join(root, page))
    for number, target in links_in(text):
        if re.match(r"^[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        full = os.path.normpath(os.path.join(root, os.path.dirname(page), path)) if path else os.path.join(root, page)
        if not os.path.exists(full):
            findings.append(f"{page}:{number}: link to {target}: there is no such file")
            continue
        reached.setdefault(page, set()).add(os.path.relpath(full, root))
        if anchor and full.endswith(".md") and anchor not in anchors_of(read(full)):
            findings.append(f"{page}:{number}: link to {target}: the page has no heading with that anchor")


def region_of(root, file, region):
    """The lines that a cut block shows, or a text that says why there are none."""
    path = os.path.join(root, file)
    if not os.path.isfile(path):
        return None, f"cut from {file}: there is no such file"
    lines = read(path).rstrip("\n").split("\n")
    if region is None:
        return "\n".join(lines), None
    if region.endswith(":"):
        begin = lines.index(region) if region in lines else None
        if begin is None:
            return None, f"cut from {file}: no top-level key '{region}'"
        end = next((i for i in range(begin + 1, len(lines)) if re.match(r"[^\s#]", lines[i])), len(lines))
        return "\n".join(lines[begin:end]).rstrip(), None
    begins = [i for i, line in enumerate(lines) if re.search(rf"docs:begin {re.escape(region)}\b", line)]
    ends = [i for i, line in enumerate(lines) if re.search(rf"docs:end {re.escape(region)}\b", line)]
    if len(begins) != 1 or len(ends) != 1 or ends[0] < begins[0]:
        return None, f"cut from {file}: no single region '{region}'"
    kept = [line for line in lines[begins[0] + 1:ends[0]] if "docs:begin" not in line and "docs:end" not in line]
    return textwrap.dedent("\n".join(kept)).strip("\n"), None


def check_cuts(root, page, findings, fix):
    lines = read(os.path.join(root, page)).split("\n")
    i, changed = 0, False
    while i < len(lines):
        match = CUT.match(lines[i])
        if not match:
            i += 1
            continue
        start = i + 1
        if start >= len(lines) or not lines[start].startswith("```"):
            findings.append(f"{page}:{i + 1}: no code block follows the cut mark")
            i += 1
            continue
        end = next((k for k in range(start + 1, len(lines)) if lines[k].startswith("```")), len(lines))
        wanted, problem = region_of(root, match.group(1), match.group(2))
        if problem:
            findings.append(f"{page}:{i + 1}: {problem}")
        elif "\n".join(lines[start + 1:end]) != wanted:
            if fix:
                lines[start + 1:end] = wanted.split("\n")
                end = start + 1 + len(wanted.split("\n"))
                changed = True
            else:
                findings.append(f"{page}:{i + 1}: the block differs from {match.group(1)} (check_docs.py --fix)")
        i = end + 1
    if changed:
        with open(os.path.join(root, page), "w", encoding="utf-8") as out:
            out.write("\n".join(lines))


def check_vendor_code(root, page, findings):
    if not page.startswith(os.path.join("docs", "vendor") + os.sep) or page == GENERATED:
        return
    lines = read(os.path.join(root, page)).split("\n")
    for i, line in enumerate(lines):
        if VENDOR_CODE.match(line) and not (i and CUT.match(lines[i - 1])):
            findings.append(f"{page}:{i + 1}: code that is cut from no file, so nothing compiles it")


def variables_read(root):
    """TENON_* names that the product or the scripts spell, less the macros: code generation spells those."""
    found, macros = {}, set()
    for folder in ("plugin_api", "core", "manifest", "loader", "plugins", "scripts"):
        for base, folders, files in os.walk(os.path.join(root, folder)):
            folders[:] = [f for f in folders if f != "__pycache__" and f != "cmake"]
            for name in files:
                path = os.path.join(base, name)
                if name.endswith((".h", ".hpp")):
                    macros.update(MACRO.findall(read(path)))
                if name.endswith((".cpp", ".hpp")):
                    pattern = re.compile(r'"(TENON_[A-Z][A-Z0-9_]*)"')
                elif name.endswith(".sh"):
                    pattern = re.compile(r"\$\{(TENON_[A-Z][A-Z0-9_]*)")
                else:
                    continue
                for variable in pattern.findall(read(path)):
                    found.setdefault(variable, os.path.relpath(path, root))
    return {name: where for name, where in found.items() if name not in macros}


def check_names(root, findings):
    page = os.path.join("docs", "configuration.md")
    if not os.path.isfile(os.path.join(root, page)):
        findings.append(f"{page}: there is no such page")
        return
    rows = set()
    for line in read(os.path.join(root, page)).split("\n"):
        match = ROW_VARIABLE.match(line)
        if match:
            rows.add(match.group(1))
    table = os.path.join("loader", "src", "config_keys.cpp")
    if os.path.isfile(os.path.join(root, table)):
        keys = set(re.findall(r'^\s*\{"([a-z_.*]+)",\s*KeyKind::', read(os.path.join(root, table)), flags=re.M))
        documented = {re.sub(r"<\w+>", "*", key) for key in
                      re.findall(r"^\| `([a-z_.<>A-Z]+)` \|", read(os.path.join(root, page)), flags=re.M)
                      if not key.isupper() and "TENON" not in key and "NO_" not in key}
        findings += [f"{table}: {key} has no row in {page}" for key in sorted(keys - documented)]
        findings += [f"{page}: there is no key {key}" for key in sorted(documented - keys)]
    for name, where in sorted(variables_read(root).items()):
        if name not in rows:
            findings.append(f"{where}: {name} is read but has no row in {page}")


def check_index(root, pages, reached, findings):
    index = os.path.join("docs", "README.md")
    if index not in pages:
        findings.append(f"{index}: there is no such page")
        return
    seen, queue = {index}, [index]
    while queue:
        for target in reached.get(queue.pop(), ()):
            if target.endswith(".md") and target not in seen:
                seen.add(target)
                queue.append(target)
    for page in pages:
        if page.startswith("docs" + os.sep) and page not in seen:
            findings.append(f"{page}: not reached from {index}")


def main(arguments):
    fix = "--fix" in arguments
    rest = [a for a in arguments if a != "--fix"]
    if len(rest) > 1 or any(a.startswith("-") for a in rest):
        print(__doc__, file=sys.stderr)
        return 2
    root = os.path.abspath(rest[0] if rest else os.path.join(os.path.dirname(__file__), ".."))
    findings, reached = [], {}
    pages = pages_of(root)
    for page in pages:
        check_links(root, page, findings, reached)
        check_cuts(root, page, findings, fix)
        check_vendor_code(root, page, findings)
    check_names(root, findings)
    check_index(root, pages, reached, findings)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
