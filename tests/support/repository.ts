/** Small git repositories, made by git itself: commits of whole files, the same hashes each time. */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";

export interface MadeCommit {
  readonly message: string;
  /** Files by path; null = it goes. */
  readonly files: Readonly<Record<string, string | null>>;
  /** A hash that it joins with the one before it. */
  readonly merges?: string;
}

const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
const data = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`;

export class Repository {
  readonly folder: string;
  private minutes = 0;

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
    this.git(["init", "--quiet", "--bare", "--initial-branch=main"]);
  }

  git(args: readonly string[], input?: string): string {
    const given = input === undefined ? {} : { input };
    return execFileSync("git", args, { cwd: this.folder, env, encoding: "utf8", ...given }).trim();
  }

  /** On top of `main`, or of another hash; returns their hashes. */
  commit(commits: readonly MadeCommit[], from?: string): string[] {
    let parent = from ?? (this.minutes === 0 ? null : "refs/heads/main^0");
    const stream = commits.map(({ message, files, merges }) => {
      const who = `Ada Lovelace <ada@example.org> ${1_700_000_000 + 60 * this.minutes++} +0000`;
      const lines = ["commit refs/heads/main\n", `author ${who}\n`, `committer ${who}\n`, data(message)];
      if (parent !== null) lines.push(`from ${parent}\n`);
      parent = null;
      if (merges !== undefined) lines.push(`merge ${merges}\n`);
      for (const [path, content] of Object.entries(files))
        lines.push(content === null ? `D ${path}\n` : `M 100644 inline ${path}\n${data(content)}`);
      return `${lines.join("")}\n`;
    });
    this.git(["fast-import", "--quiet", "--force"], stream.join(""));
    const listed = this.git([
      "rev-list",
      "--topo-order",
      "--first-parent",
      `--max-count=${commits.length}`,
      "main",
    ]);
    return listed.split("\n").reverse();
  }
}
