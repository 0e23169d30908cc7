import { readFileSync } from 'node:fs';
import { splitInlineArguments } from '../../resp/index.ts';
import { bytesOf, textOf } from '../bytes.ts';
import { UsageError } from '../verb.ts';

/** One line of a configuration file that sets something. */
export interface Directive {
  readonly line: number;
  /** In lower case. */
  readonly name: string;
  readonly args: readonly string[];
}

/** Reads a file in the syntax of redis.conf. Throws UsageError. */
export function readConfigFile(path: string): Directive[] {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`cannot read the configuration file ${path} (${code}).`);
  }
  const lines = bytes.toString('latin1').replace(BYTE_ORDER_MARK, '').split('\n');
  return lines.flatMap((text, index) => {
    try {
      return readDirective(text, index + 1) ?? [];
    } catch (error) {
      throw new UsageError(`${path}:${index + 1}: ${(error as Error).message}.`);
    }
  });
}

/** Some editors write it, as the first three bytes. */
const BYTE_ORDER_MARK = /^\xef\xbb\xbf/;

/** Parses a line, one char a byte. Undefined: a comment or an empty line. */
export function readDirective(text: string, line: number): Directive | undefined {
  if (/^\s*(?:#|$)/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'latin1');
  const words = splitInlineArguments(bytes, 0, bytes.length);
  if (words === null) throw new Error('the quotes are not balanced');
  const [name = '', ...args] = words.map(decoded);
  if (args.length === 0) throw new Error(`'${name}' has no value; an empty one is ""`);
  return { line, name: name.toLowerCase(), args };
}

function decoded(bytes: string): string {
  const text = textOf(bytes);
  if (bytesOf(text) !== bytes) throw new Error('the value is not UTF-8');
  return text;
}
