import { sha256 } from '../../src/shared/base/digest.ts';

function entry(name: string, epoch: number, version: string): string {
  const [ver = '', rel = ''] = version.split('-');
  return `<package type="rpm"><name>${name}</name><arch>x86_64</arch><version epoch="${epoch}" ver="${ver}" rel="${rel}"/>
<checksum type="sha256" pkgid="YES">${sha256(name)}</checksum><size package="1500000" installed="3"/>
<location href="pool/${name}-${version}.x86_64.rpm"/>
<format>
<rpm:provides>
<rpm:entry name="${name}" flags="EQ" epoch="${epoch}" ver="${ver}" rel="${rel}"/>
</rpm:provides>
</format></package>
`;
}

/** Index of a bundle for a system with dnf, with two packages. */
export const index = `<?xml version="1.0" encoding="UTF-8"?>
<metadata xmlns="http://linux.duke.edu/metadata/common" xmlns:rpm="http://linux.duke.edu/metadata/rpm" packages="2">
${entry('docker-ce', 3, '29.7.2-1.el9')}${entry('passt', 0, '0^20240806-2.el9')}</metadata>
`;
