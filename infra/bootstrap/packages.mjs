/** Installs the npm packages when they differ from package-lock.json. */
import { readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { run } from "./run.mjs";

export async function packagesStep({ env, root, say }) {
  const difference = packagesDifference(root);
  if (!difference) return "as in package-lock.json";
  say(`npm ci (${difference})`);
  const { file, args } = npmCommand(env);
  try {
    await run(file, [...args, "ci", "--no-audit", "--no-fund"], {
      cwd: root,
      env: plainEnvironment(env),
      seconds: 1200,
    });
  } catch (error) {
    throw new Error(
      `the npm packages could not be installed; everything is built on them. Mend what npm says, then run npm ci.\n    ${npmReason(error)}`,
    );
  }
  const left = packagesDifference(root);
  if (left)
    throw new Error(`npm ci left node_modules incomplete (${left}); remove node_modules and run npm ci`);
  return "installed by npm ci";
}

/** npm gives its reason first and its usage last. */
function npmReason({ message, output = "" }) {
  const lines = output.split("\n").filter((line) => /^npm error +\S/.test(line));
  return lines.length > 0 ? lines.slice(0, 6).join("\n    ") : message;
}

/** Why node_modules is not what package-lock.json asks for; null when it is. npm's own copy of the lock tells what is there. */
export function packagesDifference(root) {
  const wanted = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
  let found;
  try {
    found = JSON.parse(readFileSync(join(root, "node_modules/.package-lock.json"), "utf8")).packages;
  } catch {
    return "nothing is installed";
  }
  for (const [path, { version, integrity, optional }] of Object.entries(wanted)) {
    if (path === "" || (optional && !found[path])) continue;
    const name = path.replace(/^.*node_modules\//, "");
    if (!found[path]) return `${name} is missing`;
    if (found[path].version !== version || found[path].integrity !== integrity)
      return `${name} is not ${version}`;
  }
  const extra = Object.keys(found).find((path) => !wanted[path]);
  return extra ? `${extra.replace(/^.*node_modules\//, "")} is not in the lock` : null;
}

/** Inside `npm start` the same npm, run by the Node it runs on: the one in node_modules is about to be removed. */
function npmCommand(env) {
  const { npm_execpath: npm, npm_node_execpath: node } = env;
  if (npm && node && !node.includes("node_modules")) return { file: node, args: [npm] };
  return { file: "npm", args: [] };
}

function plainEnvironment(env) {
  const path = (env.PATH ?? "").split(delimiter).filter((folder) => !folder.endsWith("node_modules/.bin"));
  return { ...env, PATH: path.join(delimiter) };
}
