"""Uses of names whose definition jedi finds in another file of the folder, and all definitions by name (from Python's own
syntax trees: functions, classes, names assigned in modules and classes). Prints JSON. Usage: python-uses.py FOLDER JEDI PARSO
"""
import ast
import json
import os
import sys

folder = os.path.realpath(sys.argv[1])
sys.path[:0] = sys.argv[2:]
import jedi  # noqa: E402

# Absolute imports name the package, which is the folder itself or lies above it.
top = folder
while os.path.exists(os.path.join(top, "__init__.py")):
    top = os.path.dirname(top)
project = jedi.Project(top)


def definitions_of(tree):
    found = []

    def visit(node, holds_names):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found.append((child.name, child.lineno))
                visit(child, isinstance(child, ast.ClassDef))
            else:
                if holds_names and isinstance(child, (ast.Assign, ast.AnnAssign)):
                    targets = child.targets if isinstance(child, ast.Assign) else [child.target]
                    for name in (name for target in targets for name in ast.walk(target)):
                        if isinstance(name, ast.Name):
                            found.append((name.id, name.lineno))
                visit(child, holds_names)

    visit(tree, True)
    return found


uses, definitions, files = [], [], []
for path in json.load(sys.stdin):
    with open(os.path.join(folder, path), encoding="utf-8") as opened:
        source = opened.read()
    try:
        tree = ast.parse(source)
    except SyntaxError:
        continue
    definitions += [{"name": name, "path": path, "line": line} for name, line in definitions_of(tree)]
    files.append((path, source, tree))

# Names that no other file defines need no answer.
defined_in = {}
for one in definitions:
    defined_in.setdefault(one["name"], set()).add(one["path"])

for path, source, tree in files:
    file = os.path.join(folder, path)
    script = jedi.Script(source, path=file, project=project)
    places = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            places.append((node.lineno, node.col_offset, node.id))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            places.append((node.end_lineno, node.end_col_offset - len(node.attr.encode()), node.attr))
    lines = source.split("\n")
    for line, byte, name in sorted(places):
        if not defined_in.get(name, set()) - {path}:
            continue
        # Syntax trees count bytes, jedi and editors characters.
        column = len(lines[line - 1].encode()[:byte].decode())
        try:
            targets = script.goto(line, column, follow_imports=True)
        except Exception:  # jedi gives up on some code in many ways
            continue
        targets = [one for one in targets if one.module_path and one.line and one.name == name]
        if len(targets) != 1:
            continue
        target = os.path.realpath(str(targets[0].module_path))
        if target == file or not target.startswith(folder + os.sep):
            continue
        right = {"path": os.path.relpath(target, folder).replace(os.sep, "/"), "line": targets[0].line}
        uses.append({"path": path, "line": line, "column": column, "name": name, "right": right})
json.dump({"uses": uses, "definitions": definitions}, sys.stdout)
