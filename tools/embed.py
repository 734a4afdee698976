#!/usr/bin/env python3
"""embed.py OUTPUT.c NAME FILE...: a C table NAME[] of {file name, text}, ended by {NULL, NULL}."""
import os
import sys


def literal(text):
    """The text as C string literals, one a line of it."""
    lines = []
    for line in text.splitlines(keepends=True):
        escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("\n", "\\n")
        lines.append(f'        "{escaped}"')
    return "\n".join(lines) or '        ""'


def main(output, name, *files):
    rows = []
    for path in files:
        with open(path, encoding="ascii") as file:
            rows.append(f'    {{"{os.path.basename(path)}",\n{literal(file.read())}}},')
    text = (f"/* Made by tools/embed.py. */\n#include <stddef.h>\n#include \"base/embedded.h\"\n\n"
            f"const struct claret_embedded {name}[] = {{\n" + "\n".join(rows) + "\n    {NULL, NULL}};\n")
    with open(output, "w", encoding="ascii") as file:
        file.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
