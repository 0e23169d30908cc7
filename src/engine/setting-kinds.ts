import { parseMemorySize } from '../memory-size.ts';
import { ErrorReply } from '../resp/index.ts';
import { INT64_MAX } from './errors.ts';
import { parseInteger } from './number.ts';
import { lower } from './text.ts';

/**
 * How the text of a setting is read: gives it back in the form that CONFIG GET shows, or throws an
 * ErrorReply whose message is the reason alone.
 */
export type SettingKind = (text: string) => string;

export const anyText: SettingKind = (text) => text;

export function integer(least: number | bigint, most: number | bigint = INT64_MAX): SettingKind {
  return (text) => {
    const value = parseInteger(text);
    if (value === undefined) throw new ErrorReply("argument couldn't be parsed into an integer");
    return withinBounds(value, least, most);
  };
}

/** Bytes, with a unit if wanted: `k` is 1000 and `kb` is 1024. No digits mean 0, as in Redis. */
export function memory(least: number | bigint, most: number | bigint = INT64_MAX): SettingKind {
  return (text) => {
    const bytes = parseMemorySize(text);
    if (bytes === undefined) throw new ErrorReply('argument must be a memory value');
    return withinBounds(bytes, least, most);
  };
}

/** Bytes, or a share of maxmemory such as `25%`. */
export const memoryOrPercent: SettingKind = (text) => {
  if (!text.endsWith('%')) return memory(0)(text);
  return `${integer(0, 100)(text.slice(0, -1))}%`;
};

export const yesOrNo: SettingKind = (text) => {
  const word = lower(text);
  if (word !== 'yes' && word !== 'no') throw new ErrorReply("argument must be 'yes' or 'no'");
  return word;
};

export function oneOf(...words: readonly string[]): SettingKind {
  return (text) => {
    const word = lower(text);
    if (words.includes(word)) return word;
    throw new ErrorReply(`argument(s) must be one of the following: ${words.join(', ')}`);
  };
}

/** A setting of Redis of which only one value makes sense here. */
export function only(value: string, reason: string): SettingKind {
  return (text) => {
    if (lower(text) !== value) throw new ErrorReply(reason);
    return value;
  };
}

function withinBounds(
  value: number | bigint,
  least: number | bigint,
  most: number | bigint,
): string {
  if (value >= least && value <= most) return String(value);
  throw new ErrorReply(`argument must be between ${least} and ${most} inclusive`);
}
