import type { Facts } from '../../facts/facts.ts';
import type { DriverSpec, Mirrors } from '../../inventory/fleet.ts';

/** One `.run` file by NVIDIA. */
export interface Release {
  readonly version: string;
  readonly sha256: string;
  readonly file: string;
  /** Addresses to try, the likeliest first; the digest verifies the file from each. */
  readonly addresses: readonly string[];
}

/**
 * sha256 of `NVIDIA-Linux-x86_64-VERSION.run`, newest last: the last releases of current and earlier branches, and those that CUDA
 * toolkits name. Source of each: GoogleCloudPlatform/compute-gpu-installation, linux/cuda_installer/drivers_list.py, whose
 * sync_drivers.py compares it with NVIDIA's published `.run.sha256sum`.
 */
export const digests: Readonly<Record<string, string>> = {
  '535.274.02': '3b4ef54f06991e6dfff7868dde797fad9a451fee68d5267df87ca2be8e7f293b',
  '535.288.01': 'f20c32fd6ecd1f705c6df2797c0c084253ecf7ff48f2c347f82a39619882ece1',
  '535.309.01': '288b4902ea79b017b49a9226a84f7eaa3e6b49ca0146ae50277c2fe19dd39803',
  '550.163.01': 'ef8149f5b34595460145e9fbf82d3c92ee46735b856067aa94887b975cab9a2e',
  '570.195.03': 'ab6f39c6bcdedb8b0fd8fb55ffa5480f0e90588e92ba5cadb0477bf11eb8b508',
  '570.211.01': '6d038c4fb83448ea4a3d25bdab1556514d5ac1da43377859e0586219a25ff72b',
  '580.65.06': '04b10867af585e765cfbfdcf39ed5f4bd112375bebab0172eaa187c6aa5024ff',
  '580.82.07': '061e48e11fe552232095811d0b1cea9b718ba2540d605074ff227fce0628798c',
  '580.95.05': '849ef0ef8e842b9806b2cde9f11c1303d54f1a9a769467e4e5d961b2fe1182a7',
  '580.105.08': 'd9c6e8188672f3eb74dd04cfa69dd58479fa1d0162c8c28c8d17625763293475',
  '580.126.20': 'a055dbeae72438f20335b41929a060148c82c69d2147c0d922660e8c5a265eb1',
  '580.159.04': 'c1e66761b088d17b3adf6cb6979de9af38be2684d102b001a176dcfafabdca1e',
  '580.173.02': '8d8eb9001e05a9a8a663d3d5d304feb64ef2844ee185ccdfd952786820f46e1b',
  '580.178.04': '5975a86ee45bffcb626f51ae33d1169b108186a2ea47ad651e72f13fa4b6d6f9',
  '590.48.01': 'b9e2f80693781431cc87f4cd29109e133dcecb50a50d6b68d4b3bf2d696bd689',
  '595.58.03': '8c0d4f967b7932c4ab5714272aee8103392b0a702c92afa555176d36205829f9',
  '595.71.05': '36203b8960b7e49c8a42f6ba1f5863cde34a05e93d2b24b798af06dd846f6b82',
  '595.84': '99c404e52131bf27bca6da0268dcce3ebedc7a73ab174071a995cf1a6c5eba06',
  '595.91.07': 'ca23c88dd24b07a191644e1e11cfb7bcdd7537305749af40f980018b095e6313',
  '610.43.02': '3034a054bb4cdf7752ff8dc272564cb105513804bff53538945901b16ca77463',
  '610.57.04': 'b2e935c66b83bb00c0c857bc8e0ee0fd52de9286b40c9cc1eec29a7ce7eb116d',
  '615.71.09': 'cdceed22bbeb61248d1a6deabc2596673e3a6501698ee71ac8d2fdc28f3b70fe',
};

/** NVIDIA's servers: public drivers, and those for data centres only. Both have a folder for each version. */
const bases = {
  public: 'https://download.nvidia.com/XFree86',
  dataCentres: 'https://us.download.nvidia.com/tesla',
} as const;

/** Returns the desired `.run` file, or what the inventory lacks: without a digest nothing is run as root. */
export function releaseOf(
  { arch }: Pick<Facts, 'arch'>,
  spec: DriverSpec,
  mirrors: Mirrors,
): Release | { readonly what: string; readonly next: string } {
  const known = arch === 'x86_64' ? digests : {};
  const version = spec.version ?? Object.keys(known).findLast((each) => each.startsWith(`${spec.branch}.`));
  if (version === undefined)
    return {
      what: `azp-fleet knows no .run file of driver branch ${spec.branch} for ${arch}`,
      next: 'set driver: { method: runfile, version: …, sha256: … } in the inventory',
    };
  const file = `NVIDIA-Linux-${arch}-${version}.run`;
  const folder = `Linux-${arch}/${version}`;
  const sha256 = spec.sha256 ?? known[version];
  if (sha256 === undefined)
    return {
      what: `unknown sha256 of ${file}: azp-fleet runs it as root only after verifying it`,
      next: `set driver.sha256 to the sum in ${bases.public}/${folder}/${file}.sha256sum`,
    };
  const { nvidiaRunfile } = mirrors;
  const addresses =
    nvidiaRunfile === undefined
      ? [`${bases.public}/${folder}/${file}`, `${bases.dataCentres}/${version}/${file}`]
      : [`${nvidiaRunfile}/${folder}/${file}`];
  return { version, sha256, file, addresses };
}
