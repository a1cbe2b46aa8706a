/** Tar archives as ill-meant as their fields: what no tool would write. */

/** One entry of an archive. */
export function tarEntry(
  name: string,
  type: string,
  options: { readonly link?: string; readonly content?: string } = {},
): Buffer {
  const content = Buffer.from(options.content ?? "");
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write("0000644\0", 100);
  header.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124);
  header.write(type, 156);
  header.write(options.link ?? "", 157);
  header.write("ustar\x0000", 257);
  header.write("        ", 148);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
}

/** After the last entry. */
export const TAR_END = Buffer.alloc(1024);
