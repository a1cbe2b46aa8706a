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


def uses(file, symbol):
    """Whether the symbol is read outside of its own definitions."""
    tree = ast.parse(read(file))
    own = {id(node) for definition in definitions(tree, symbol) for node in ast.walk(definition)}
    return any(
        name_of(node) == symbol and isinstance(node.ctx, ast.Load) and id(node) not in own
        for node in ast.walk(tree)
        if isinstance(node, (ast.Name, ast.Attribute))
    )


def holds(assertion, alone=False):
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
        return bool(found) and (alone is not True or any(uses(file, assertion["symbol"]) for file in sources(set())))
    return bool(found) and all(node.end_lineno - node.lineno + 1 <= assertion["lines"] for node in found)


IMPORTERS = {"__import__", "import_module"}
LOADERS = {"exec", "eval", "__builtins__", "find_spec", "spec_from_file_location", "load_module", "exec_module", "run_module", "run_path"}


def name_of(node):
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)


def loads_literal(call):
    """A call of an importing function whose module stands there."""
    if name_of(call.func) not in IMPORTERS or not call.args or not isinstance(call.args[0], ast.Constant):
        return False
    return isinstance(call.args[0].value, str) and not call.args[0].value.startswith(".")


def unreadable(text):
    """Imports whose module cannot be read from the source."""
    tree = ast.parse(text)
    read_ones = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call) and loads_literal(node)}
    members = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        name = name_of(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        if name in IMPORTERS and id(node) not in read_ones:
            yield ast.unparse(node)
        elif name in LOADERS and not (isinstance(node, ast.Attribute) and name in ("exec", "eval")):
            yield ast.unparse(node)
        elif isinstance(node, ast.Name) and name == "importlib" and id(node) not in members:
            yield "importlib"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in IMPORTERS:
            yield node.value
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{one.name} as {one.asname}" for one in node.names if one.name in IMPORTERS | LOADERS and one.asname)


def imports(file):
    """Modules that a file imports; relative ones from the root of the tree."""
    folder = os.path.dirname(file).split("/") if os.path.dirname(file) else []
    for node in ast.walk(ast.parse(read(file))):
        if isinstance(node, ast.Call) and loads_literal(node):
            yield node.args[0].value
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
    before = {one for text in check["known"] for one in unreadable(text)}
    hidden = any(one not in before for file in sources(set(check["skip"])) for one in unreadable(read(file)))
    yield from ((one["name"], not imported(one) and not hidden) for one in check["absent"])
    yield from ((one["name"], imported(one)) for one in check["present"])


def main():
    check = json.loads(read(os.path.join(os.path.dirname(os.path.abspath(__file__)), "check.json")))
    if "assertions" in check:
        title, results = "structure", [
            (one["name"], holds(one, all(other["kind"] == "defines" for other in check["assertions"])))
            for one in check["assertions"]
        ]
    else:
        title, results = "imports", list(migration(check))
    print(f"TAP version 13\n# {title}")
    for number, (name, ok) in enumerate(results, 1):
        print(f"{'ok' if ok else 'not ok'} {number} {name}")
    print(f"1..{len(results)}")
    sys.exit(0 if all(ok for _, ok in results) else 1)


main()
