const OLDEST = '20.19';

/** Why Holdfast does not start on this version of Node, if so. */
export function refusal(version: string): string | undefined {
  if (comesBefore(version, OLDEST)) {
    return `holdfast needs Node ${OLDEST} or later, and this is Node ${version}. Install a newer one (https://nodejs.org) and run the command again.`;
  }
  return undefined;
}

function comesBefore(version: string, oldest: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = oldest.split('.').map(Number);
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
}
