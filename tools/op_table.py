#!/usr/bin/env python3
"""op_table.py OUTPUT.c WORD...: the tables of ops and reference functions, from meson.build's list of ops."""
import sys


def main(output, *words):
    def table(kind, struct, declaration):
        rows = "\n".join(f"extern {declaration.format(word)};" for word in words)
        names = "\n".join(f"    claret_{kind}_{word}," for word in words)
        return f"{rows}\nconst struct {struct} = {{\n{names}\n    NULL}};\n"

    text = ('/* Made by tools/op_table.py. */\n#include <stddef.h>\n#include "op/op.h"\n#include "ref/ref.h"\n\n'
            + table("ops", "claret_op *const *const claret_op_lists[]",
                    "const struct claret_op *const claret_ops_{}[]")
            + "\n"
            + table("ref", "claret_ref *const claret_ref_lists[]", "const struct claret_ref claret_ref_{}[]"))
    with open(output, "w", encoding="ascii") as file:
        file.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
