/** How the twelve repositories of SWE-bench's first datasets run their tests: their rows name no command. */

interface Repository {
  /** Bash, before the tests' files. */
  readonly command: string;
  readonly logParser: string;
}

const PYTEST = "pytest -rA";
const QUIET = "pytest -rA --tb=no -p no:cacheprovider";

const REPOSITORIES: Readonly<Record<string, Repository>> = {
  "astropy/astropy": { command: QUIET, logParser: "astropy" },
  "django/django": {
    command: "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1",
    logParser: "django",
  },
  "matplotlib/matplotlib": { command: QUIET, logParser: "matplotlib" },
  "mwaskom/seaborn": { command: "pytest --no-header -rA", logParser: "seaborn" },
  "pallets/flask": { command: PYTEST, logParser: "flask" },
  "psf/requests": { command: PYTEST, logParser: "requests" },
  "pydata/xarray": { command: QUIET, logParser: "xarray" },
  "pylint-dev/pylint": { command: QUIET, logParser: "pylint" },
  "pytest-dev/pytest": { command: PYTEST, logParser: "pytest" },
  "scikit-learn/scikit-learn": { command: QUIET, logParser: "scikit" },
  "sphinx-doc/sphinx": { command: PYTEST, logParser: "sphinx" },
  "sympy/sympy": { command: "bin/test -C --verbose", logParser: "sympy" },
};

export const repositoryOf = (repo: string): Repository | undefined => REPOSITORIES[repo];

/** Ends of names that hold data, not tests. */
const DATA = /\.(json|png|csv|txt|md|jpg|jpeg|pkl|yml|yaml|toml)$/;

/** What the test command is told: the test patch's files, for Django the modules that they are. */
export function testTargets(repo: string, paths: readonly string[]): string[] {
  const files = paths.filter((path) => !DATA.test(path));
  if (repo !== "django/django") return files;
  return files.map((path) =>
    path
      .replace(/\.py$/, "")
      .replace(/^tests\//, "")
      .replaceAll("/", "."),
  );
}
