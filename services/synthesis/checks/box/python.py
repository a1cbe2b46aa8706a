"""The checks of a refactoring and of a migration in Python, by its own parser. Runs in the judging box, in the tree's root."""
import ast
import io
import json
import os
import sys
import tokenize

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


def read(file):
    with open(file, encoding="utf-8") as opened:
        return opened.read()


def definitions(tree, symbol):
    """Functions and classes of the name; a name that holds a lambda is one, too."""
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS) and node.name == symbol:
            yield node
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            if any(isinstance(target, ast.Name) and target.id == symbol for target in node.targets):
                yield node


def calls(tree, symbol, origin):
    found = set()
    for definition in definitions(tree, origin):
        for node in ast.walk(definition):
            if isinstance(node, ast.Call):
                called = node.func
                name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", None)
                if name == symbol:
                    found.add((node.lineno, node.col_offset))
    return len(found)


def tokens(file):
    reader = io.StringIO(read(file)).readline
    return [one.string for one in tokenize.generate_tokens(reader) if one.type not in SILENT]


def has_copy(files, length):
    seen = {}
    for number, file in enumerate(files):
        words = tokens(file)
        for start in range(len(words) - length + 1):
            before = seen.setdefault(tuple(words[start : start + length]), (number, start))
            if before[0] != number or before[1] + length <= start:
                return True
    return False


def holds(assertion):
    kind = assertion["kind"]
    if kind == "max-copies":
        files = assertion["files"]
        return all(map(os.path.isfile, files)) and not has_copy(files, assertion["tokens"])
    if not os.path.isfile(assertion["file"]):
        return kind == "lacks"
    tree = ast.parse(read(assertion["file"]))
    if kind == "calls":
        return calls(tree, assertion["symbol"], assertion["from"]) >= assertion["atLeast"]
    found = list(definitions(tree, assertion["symbol"]))
    if kind == "lacks":
        return not found
    if kind == "defines":
        return bool(found)
    return bool(found) and all(node.end_lineno - node.lineno + 1 <= assertion["lines"] for node in found)


def imports(file):
    """Modules that a file imports; relative ones from the root of the tree."""
    folder = os.path.dirname(file).split("/") if os.path.dirname(file) else []
    for node in ast.walk(ast.parse(read(file))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = folder[: len(folder) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def sources(skip):
    for folder, folders, files in os.walk("."):
        below = os.path.relpath(folder, ".")
        prefix = "" if below == "." else below + "/"
        folders[:] = sorted(name for name in folders if name != ".git" and prefix + name not in skip)
        for name in sorted(files):
            if name.endswith(".py") and prefix + name not in skip:
                yield prefix + name


def is_of(module, wanted):
    return module == wanted or module.startswith(wanted + ".")


def migration(check):
    found = [module for file in sources(set(check["skip"])) for module in imports(file)]
    imported = lambda one: any(is_of(module, one["module"]) for module in found)
    yield from ((one["name"], not imported(one)) for one in check["absent"])
    yield from ((one["name"], imported(one)) for one in check["present"])


def main():
    check = json.loads(read(os.path.join(os.path.dirname(os.path.abspath(__file__)), "check.json")))
    if "assertions" in check:
        title, results = "structure", [(one["name"], holds(one)) for one in check["assertions"]]
    else:
        title, results = "imports", list(migration(check))
    print(f"TAP version 13\n# {title}")
    for number, (name, ok) in enumerate(results, 1):
        print(f"{'ok' if ok else 'not ok'} {number} {name}")
    print(f"1..{len(results)}")
    sys.exit(0 if all(ok for _, ok in results) else 1)


main()
