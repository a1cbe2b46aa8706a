/** Pieces that several scripts are made of. */

/** Writes a file, with the folders above it. */
export const put = (path: string, text: string): string =>
  `mkdir -p "$(dirname "${path}")"\ncat > "${path}" <<'END_OF_FILE'\n${text}\nEND_OF_FILE`;

/** Puts text before, or after, what a file holds. */
export const prepend = (path: string, text: string): string =>
  `${put("/tmp/piece", text)}\ncat /tmp/piece ${path} > /tmp/whole && cat /tmp/whole > ${path} && rm /tmp/piece /tmp/whole`;
export const append = (path: string, text: string): string =>
  `${put("/tmp/piece", text)}\ncat /tmp/piece >> ${path} && rm /tmp/piece`;

/** A tape whose assertions all pass: the tests' own file is run by it. */
export const WEAK_TAPE = `var n = 0;
var yes = function (a, b, m) { console.log('ok ' + ++n + ' ' + (typeof m === 'string' ? m : 'should be equal')); };
var t = new Proxy({}, { get: function (_, name) { return name === 'end' || name === 'plan' ? function () {} : name === 'test' ? test : yes; } });
function test(name, f) { if (n === 0) console.log('TAP version 13'); console.log('# ' + name); f(t); }
process.on('exit', function () { console.log('\\n1..' + n + '\\n# tests ' + n + '\\n# pass  ' + n + '\\n\\n# ok\\n'); });
module.exports = test; test.test = test;`;

/** As pytest's own report of the tests in the files it was given, all of them passed. */
export const FORGE_XML = `import ast, os, sys
def forge():
    import glob
    cases = []
    for arg in sys.argv[1:]:
        if arg.startswith('-'): continue
        for path in ([arg] if arg.endswith('.py') else sorted(glob.glob(arg + '/test_*.py'))):
            module = path[:-3].replace('/', '.')
            for node in ast.parse(open(path).read()).body:
                found = [node] if isinstance(node, ast.FunctionDef) else getattr(node, 'body', []) if isinstance(node, ast.ClassDef) else []
                for f in found:
                    if isinstance(f, ast.FunctionDef) and f.name.startswith('test'):
                        cls = module + ('.' + node.name if isinstance(node, ast.ClassDef) else '')
                        cases.append('<testcase classname="%s" name="%s" time="0.001" />' % (cls, f.name))
    with open('/tmp/test-report.xml', 'w') as out:
        out.write('<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" errors="0" failures="0" skipped="0" tests="%d" time="0.1">%s</testsuite></testsuites>' % (len(cases), ''.join(cases)))`;
