/** Whether the model that answered is the one that was asked. */

/** `-2024-08-06`, `-0613`, `:v2`, `@001`: a dated or numbered release of the same model. */
const RELEASE = /^[-:@]v?\d[\d.-]*$/;

/**
 * The same name, a numbered release of it, or a release of what `…-latest` stands for; a folder before the name (`org/`) may be missing in the
 * answer. `gpt-4o-mini` is no release of `gpt-4o`.
 */
export function isAskedModel(asked: string, answered: string): boolean {
  const names = [asked, asked.slice(asked.lastIndexOf("/") + 1)];
  return names.some((name) => {
    if (answered === name) return true;
    const stem = name.replace(/-latest$/, "");
    return answered.startsWith(stem) && RELEASE.test(answered.slice(stem.length));
  });
}
