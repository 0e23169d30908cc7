import { crc32 } from './crc32.ts';
import { LogError } from './errors.ts';

/** The files of a log in the order in which they are loaded. The format is that of Redis 7. */
export interface Manifest {
  readonly base: LogFileName | undefined;
  readonly increments: readonly LogFileName[];
}

export interface LogFileName {
  readonly name: string;
  readonly sequence: number;
}

export const EMPTY_MANIFEST: Manifest = { base: undefined, increments: [] };

/** The highest sequence number of all files. */
export function lastSequence({ base, increments }: Manifest): number {
  return Math.max(0, base?.sequence ?? 0, ...increments.map(({ sequence }) => sequence));
}

export function fileNames({ base, increments }: Manifest): string[] {
  return [...(base === undefined ? [] : [base]), ...increments].map(({ name }) => name);
}

export function printManifest({ base, increments }: Manifest): string {
  const lines = [
    ...(base === undefined ? [] : [fileText(base, 'b')]),
    ...increments.map((file) => fileText(file, 'i')),
  ].join('');
  // Redis skips lines that begin with #.
  return `${lines}${CRC_BEGIN}${crc32(lines).toString(16).padStart(8, '0')}\n`;
}

/** Reads a manifest of Holdfast or of Redis. Throws LogError. */
export function parseManifest(text: string, path: string): Manifest {
  const end = text.lastIndexOf(CRC_BEGIN);
  const body = end < 0 ? text : text.slice(0, end);
  if (end >= 0 && printCrc(body) !== text.slice(end)) {
    throw damaged(path, 'its CRC is wrong');
  }
  const files = body
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => parseLine(line, path));
  const increments = files.filter(({ type }) => type === 'i');
  const bases = files.filter(({ type }) => type === 'b');
  if (files.length === 0) throw damaged(path, 'it names no file');
  if (new Set(files.map(({ name }) => name)).size < files.length) {
    throw damaged(path, 'it names a file twice');
  }
  if (bases.length > 1) throw damaged(path, 'it has more than one base file');
  for (const [at, { sequence }] of increments.entries()) {
    if (at > 0 && sequence <= increments[at - 1]!.sequence) {
      throw damaged(path, `the sequence number ${sequence} does not rise`);
    }
  }
  return { base: bases[0], increments };
}

/** Whether Holdfast has written the text of a manifest: Redis writes no CRC. */
export function isOwnManifest(text: string): boolean {
  return text.includes(CRC_BEGIN);
}

function parseLine(line: string, path: string): LogFileName & { type: string } {
  const found = LINE.exec(line);
  if (found === null) throw damaged(path, `this line is not one of a manifest: ${line}`);
  const [, name, sequence, type] = found;
  if (name!.includes('/') || name!.startsWith('.'))
    throw damaged(path, `the name ${name} is a path`);
  return { name: name!, sequence: Number(sequence), type: type! };
}

function damaged(path: string, reason: string): LogError {
  return new LogError(
    'damaged',
    `${path} is damaged: ${reason}. Restore the folder from a backup, or see holdfast check.`,
  );
}

function fileText({ name, sequence }: LogFileName, type: 'b' | 'i'): string {
  return `file ${name} seq ${sequence} type ${type}\n`;
}

function printCrc(body: string): string {
  return `${CRC_BEGIN}${crc32(body).toString(16).padStart(8, '0')}\n`;
}

const CRC_BEGIN = '#HF:m,';
const LINE = /^file "?([^" ]+)"? seq (\d{1,15}) type ([bih])$/;
