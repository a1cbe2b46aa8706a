/** Whether the model that answered is the one that was asked. */

/** `-2024-08-06`, `@20240806`: a release of the same model by its date. Any other number may be a size or a generation. */
const RELEASE = /^[-:@]20\d\d(-?)(0[1-9]|1[0-2])\1(0[1-9]|[12]\d|3[01])$/;

/**
 * The same name, a dated release of it, or a release of what `…-latest` stands for; a folder before the name (`org/`) may be missing in the
 * answer. `gpt-4o-mini` and `gpt-4o-8` are no releases of `gpt-4o`.
 */
export function isAskedModel(asked: string, answered: string): boolean {
  const names = [asked, asked.slice(asked.lastIndexOf("/") + 1)];
  return names.some((name) => {
    if (answered === name) return true;
    const stem = name.replace(/-latest$/, "");
    return answered.startsWith(stem) && RELEASE.test(answered.slice(stem.length));
  });
}
