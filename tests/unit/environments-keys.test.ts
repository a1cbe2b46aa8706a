import { describe, expect, it } from "vitest";
import { loadCatalogue } from "../../services/environments/index.ts";
import { keyOf, plainEntry } from "../../services/environments/materials.ts";

/** Of published evidence: tree, modules and key as Node 24.22.3 prepared them. */
const PUBLISHED = {
  minimist: [
    "548ed63cf78bebf05525b402882de5f75f1337bf26f376389d24034bd46ab97a",
    "e9d858ecbfcc6a27efe3b23addba7fd61b4925d891b0dfbc64fe5ef525ac5267",
    "minimist@1.2.8-d9df17f5deb6",
  ],
  "shell-quote": [
    "a04c81ea0ba8536d2eb59d76a75ca9dbae294ea54916f5aa3eb753e768ac9f22",
    "e9d858ecbfcc6a27efe3b23addba7fd61b4925d891b0dfbc64fe5ef525ac5267",
    "shell-quote@1.8.1-626bc4af1bf0",
  ],
  "bit-twiddle": [
    "eadc12946dff0a6603760cd1a48b30b8bb4d80036f15c4e04c7012b69eaf93d9",
    "e9d858ecbfcc6a27efe3b23addba7fd61b4925d891b0dfbc64fe5ef525ac5267",
    "bit-twiddle@1.0.2-4ee2fa5a940c",
  ],
  tilebelt: [
    "7229ba34e43a6bc8910e17265ba89c745c05ccfbaefa67f003815e80510918de",
    "e9d858ecbfcc6a27efe3b23addba7fd61b4925d891b0dfbc64fe5ef525ac5267",
    "tilebelt@1.0.2-5faa7e378b5d",
  ],
  "json-stable-stringify": [
    "4a14b4d3b7a0ee230dfbceb54b8891d6331b2d09aa89f8b34504ffd1ee1b9b9a",
    "2049380be93ee35c82aff38cc79ca6829cfe4f70fc16d73b9928ad68c2e93595",
    "json-stable-stringify@1.0.2-86e898dbc527",
  ],
  "point-in-polygon": [
    "1c3d3aec417853a400d94048a997d058618e0a1dc34e9feb5b5e0fe18432f101",
    "e9d858ecbfcc6a27efe3b23addba7fd61b4925d891b0dfbc64fe5ef525ac5267",
    "point-in-polygon@1.1.0-a6dcde63a520",
  ],
  "text-table": [
    "f4f4dfa6f7fff7e4abbe676451ec910adc0e6ee90a2bb5a9845ff467816fa7d7",
    "e9d858ecbfcc6a27efe3b23addba7fd61b4925d891b0dfbc64fe5ef525ac5267",
    "text-table@0.2.0-e0899ab4c3fa",
  ],
  qs: [
    "1695df452c39aa3237e20e00e43e452084e36ee99515ccc80a2017156b4ac208",
    "b6970570523187c71b40fd8619fdab4710177577305e43b2f76014a9ee593b60",
    "qs@6.5.3-b81c5cbac9f8",
  ],
  wellknown: [
    "2e60e318f0b3e3c17d37b014612e6a3bc92470d57f68e08838966fa4c5b9f050",
    "eb88e7546fecc1201334e1d45a7970a584493d7f7401531ee2b3909adced5cd7",
    "wellknown@0.5.0-1d72af72c9cc",
  ],
  "binary-search-bounds": [
    "b5f1740cd5ae4444506a571dc5a5f100a16fe91b4331d4a7f6db3b0d68854488",
    "a29c321d9ae04aa40216fd1c1a4522f6d5ef6d982ba758f1ab09022e19a2dbd6",
    "binary-search-bounds@2.0.5-942d10802e53",
  ],
  "magnet-uri": [
    "9c7839abea09b561af80f0171ff40238addf9a04ad8f452daaebf5bd97a9a9f0",
    "0e283d9168b4c7ac753758a30153dac7d6f2d0b5a9f3578d5505cfa8cedfa24c",
    "magnet-uri@5.1.7-8b32431e1a7d",
  ],
  "path-browserify": [
    "d977caa1e86c2769b10981122e065352ae362900b584a625e84661e77d370d4d",
    "e9d858ecbfcc6a27efe3b23addba7fd61b4925d891b0dfbc64fe5ef525ac5267",
    "path-browserify@1.0.1-f92aeb8e4df1",
  ],
  "word-wrapper": [
    "b4560f7299ad4f925f558a938c1b0467015750dd5daf7fa91703e566c2db9f94",
    "e9d858ecbfcc6a27efe3b23addba7fd61b4925d891b0dfbc64fe5ef525ac5267",
    "word-wrapper@1.0.7-1d157f6b980b",
  ],
  lineclip: [
    "bc02150f847ec03a4e88d6c2f4a3d76b1ae3b82a9d539cc27805be02289e7d96",
    "1d04b1f00a2524680a03fbfedecc7248faa0f1e863ffce9e1d216e3a0a252368",
    "lineclip@1.1.5-12a9e92d70d7",
  ],
  camelize: [
    "491b1e1984a791f80413992fbcb060737029e353e8dcee443d3a4e729f7b32a5",
    "e9d858ecbfcc6a27efe3b23addba7fd61b4925d891b0dfbc64fe5ef525ac5267",
    "camelize@1.0.0-23a0ac91db83",
  ],
  ent: [
    "69232b0699193118825503dd5df1165b59f50abc0ac372af4d37e4d360b83bb7",
    "e9d858ecbfcc6a27efe3b23addba7fd61b4925d891b0dfbc64fe5ef525ac5267",
    "ent@2.2.0-7fb3114b5881",
  ],
  "parse-headers": [
    "5c715e51a66b9e73ff7df18592c20406f00cf77a00b0abb26aa71df9122edc9d",
    "cae085ba726df9001c1829f4d81d6547ad60e31f7ebc6a872d6154cd958d6ad7",
    "parse-headers@2.0.1-6be691f10546",
  ],
  "base64-js": [
    "479ac2c9a64adb73c9077db0efe894f3bd775fa3d0fe461a3db63b0ffe54dc96",
    "e9d858ecbfcc6a27efe3b23addba7fd61b4925d891b0dfbc64fe5ef525ac5267",
    "base64-js@1.2.1-fe6ff25e7f16",
  ],
} as const;

describe("the key of an environment that published evidence names", () => {
  it.each(Object.entries(PUBLISHED))("%s never changes", async (name, [treeHash, modulesHash, key]) => {
    const { entries } = await loadCatalogue();
    const entry = entries.find((candidate) => candidate.name === name)!;
    const { packageName, version, integrity } = entry;
    const tools = { node: "v24.22.3", preparation: "1" };
    const pins = { packageName, version, integrity, entry: plainEntry(entry), tools, treeHash, modulesHash };
    expect(keyOf(pins)).toBe(key);
  });
});
