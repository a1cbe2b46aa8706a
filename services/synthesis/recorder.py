"""
Start-up file of a recorded test run of Python (mounted as `sitecustomize.py` on a path of its own, and found there before any other):
notes which of the package's public functions each test calls. Only watched by a profile function, so that tests see what they always
see. The verdict of a run with it is never used: what it notes is only a proposal, which is then run without it.

Reads TADPOLE_RECORD: JSON {root, sources: [relative path], out: absolute path}. Writes one JSON line per test:
{"test": name in the report, "calls": [{"code", "printed"}]}; `code` is lines of imports and an expression, `printed` null where the
call raised.
"""
import atexit
import datetime
import decimal
import dis
import json
import os
import sys
import types
import unittest

MAX_CODE = 300
MAX_PRINTED = 600
MAX_CALLS = 40
RETURN = dis.opmap["RETURN_VALUE"]
PLAIN = (type(None), bool, int, str, bytes)
WRITTEN = {
    datetime.date: "import datetime",
    datetime.timedelta: "import datetime",
    decimal.Decimal: "from decimal import Decimal",
}


class Unwritable(Exception):
    pass


class Recorder:
    def __init__(self, root, sources, out):
        self.sources = {os.path.join(root, source) for source in sources}
        self.out = open(out, "w")
        self.known = {}
        self.made = {}
        # What was made before any test began serves them all.
        self.shared = {}
        self.unittest = None
        self.test = None
        self.calls = []
        self.active = None
        self.code = None

    def literal(self, value, imports, depth=0):
        """A literal that evaluates to an equal value."""
        kind = type(value)
        if kind in PLAIN:
            return repr(value)
        if kind is float:
            return repr(value) if value - value == 0 else f"float({str(value)!r})"
        if kind in WRITTEN:
            imports.add(WRITTEN[kind])
            return repr(value)
        made = self.made.get(id(value))
        if made is not None:
            imports.update(made[1])
            return made[2]
        if depth > 6 or kind not in (list, tuple, set, frozenset, dict) or len(value) > 60:
            raise Unwritable()
        return self.container(value, kind, lambda item: self.literal(item, imports, depth + 1))

    def container(self, value, kind, write):
        if kind is dict:
            return "{" + ", ".join(f"{write(key)}: {write(item)}" for key, item in value.items()) + "}"
        items = ", ".join(write(item) for item in (value if kind in (list, tuple) else sorted(value, key=repr)))
        if kind is list:
            return f"[{items}]"
        if kind is tuple:
            return f"({items},)" if len(value) == 1 else f"({items})"
        return f"{kind.__name__}([{items}])"

    def arguments(self, frame, function, skip, imports):
        """What the call was given, but for defaults at its end."""
        code = frame.f_code
        function = getattr(function, "__func__", function)
        positional = code.co_varnames[skip : code.co_argcount]
        rest = code.co_varnames[code.co_argcount :]
        named = rest[: code.co_kwonlyargcount]
        more = list(rest[code.co_kwonlyargcount :])
        write = lambda value: self.literal(value, imports)
        written = [write(frame.f_locals[name]) for name in positional]
        variadic = frame.f_locals[more.pop(0)] if code.co_flags & 0x04 else ()
        defaults = [repr(value) for value in getattr(function, "__defaults__", None) or ()]
        while not variadic and written and defaults and written[-1] == defaults[-1]:
            written.pop()
            defaults.pop()
        written += [write(value) for value in variadic]
        given = getattr(function, "__kwdefaults__", None) or {}
        for name in named:
            value = write(frame.f_locals[name])
            if name not in given or value != repr(given[name]):
                written.append(f"{name}={value}")
        if code.co_flags & 0x08:
            written += [f"{name}={write(value)}" for name, value in frame.f_locals[more.pop(0)].items()]
        return ", ".join(written)

    def write_call(self, frame):
        """(imports, expression, the object that is made) of a call."""
        code = frame.f_code
        path = code.co_qualname.split(".")
        module = frame.f_globals.get("__name__", "")
        init = path[-1] == "__init__"
        names = path[:-1] if init else path
        if module == "__main__" or not all(name.isidentifier() and not name.startswith("_") for name in names):
            raise Unwritable()
        imports = set()
        home = f"from {module} import {names[0]}"
        if len(path) == 1:
            imports.add(home)
            return imports, f"{path[0]}({self.arguments(frame, frame.f_globals.get(path[0]), 0, imports)})", None
        owner = frame.f_globals.get(path[0])
        for name in path[1:-1]:
            owner = getattr(owner, name, None)
        first = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount > 0 else None
        if not isinstance(owner, type):
            raise Unwritable()
        how = owner.__dict__.get(path[-1])
        if isinstance(how, staticmethod) or (isinstance(how, classmethod) and first is owner):
            imports.add(home)
            skip = 0 if isinstance(how, staticmethod) else 1
            return imports, f"{'.'.join(names)}({self.arguments(frame, how, skip, imports)})", None
        if init and type(first) is owner:
            imports.add(home)
            return imports, f"{'.'.join(names)}({self.arguments(frame, how, 1, imports)})", first
        made = self.made.get(id(first))
        if made is None or not isinstance(how, (types.FunctionType, property)):
            raise Unwritable()
        imports.update(made[1])
        called = "" if isinstance(how, property) else f"({self.arguments(frame, how, 1, imports)})"
        return imports, f"{made[2]}.{path[-1]}{called}", None

    def current(self):
        name = os.environ.get("PYTEST_CURRENT_TEST")
        if name is None:
            return self.unittest
        path, *parts = name.rsplit(" (", 1)[0].split("::")
        module = path.removesuffix(".py").replace("/", ".")
        return f"{'.'.join([module, *parts[:-1]])} > {parts[-1]}"

    def flush(self):
        if self.test is not None and self.calls:
            self.out.write(json.dumps({"test": self.test, "calls": self.calls}) + "\n")
            self.out.flush()
        self.calls = []

    def begin(self, frame):
        test = self.current()
        if test != self.test:
            self.flush()
            self.test = test
            self.made = dict(self.shared)
        try:
            imports, expression, made = self.write_call(frame)
        except Exception:
            return
        self.active = frame
        self.code = "\n".join([*sorted(imports), expression])
        if made is not None:
            # The object is kept, or another could get its id.
            self.made[id(made)] = (made, imports, expression)
            self.code = None
            if test is None:
                self.shared = self.made

    def end(self, frame, value):
        code, self.active, self.code = self.code, None, None
        if code is None or len(code) > MAX_CODE or len(self.calls) >= MAX_CALLS:
            return
        returned = frame.f_code.co_code[frame.f_lasti] == RETURN
        try:
            text = repr(value) if returned else None
        except Exception:
            return
        if text is not None and (len(text) > MAX_PRINTED or "\n" in text or " at 0x" in text):
            return
        self.calls.append({"code": code, "printed": text})

    def watch(self, frame, event, value):
        if event == "call":
            if self.active is None and self.is_source(frame.f_code):
                self.begin(frame)
        elif event == "return" and frame is self.active:
            self.end(frame, value)

    def is_source(self, code):
        known = self.known.get(code)
        if known is None:
            known = self.known[code] = os.path.abspath(code.co_filename) in self.sources
        return known


def install():
    settings = json.loads(os.environ.pop("TADPOLE_RECORD"))
    recorder = Recorder(settings["root"], settings["sources"], settings["out"])
    run = unittest.TestCase.run

    def named(self, *args, **kwargs):
        recorder.unittest = str(self)
        try:
            return run(self, *args, **kwargs)
        finally:
            recorder.unittest = None

    unittest.TestCase.run = named
    atexit.register(recorder.flush)
    sys.setprofile(recorder.watch)


try:
    install()
except Exception:
    # Without it the run is an ordinary one: nothing is proposed.
    pass
