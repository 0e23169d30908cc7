import { parseMemorySize } from '../memory/index.ts';
import { ErrorReply } from '../resp/index.ts';
import { INT64_MAX } from './errors.ts';
import { parseInteger } from './number.ts';
import { lower } from './text.ts';

/**
 * Parses the text of a setting. Returns it in the form that CONFIG GET shows, or throws an ErrorReply whose message is
 * the reason.
 */
export type SettingKind = (text: string) => string;

export const anyText: SettingKind = (text) => text;

export function integer(min: number | bigint, max: number | bigint = INT64_MAX): SettingKind {
  return (text) => {
    const value = parseInteger(text);
    if (value === undefined) throw new ErrorReply("argument couldn't be parsed into an integer");
    return withinBounds(value, min, max);
  };
}

/** Bytes with an optional unit: see parseMemorySize. */
export function memory(min: number | bigint, max: number | bigint = INT64_MAX): SettingKind {
  return (text) => {
    const bytes = parseMemorySize(text);
    if (bytes === undefined) throw new ErrorReply('argument must be a memory value');
    return withinBounds(bytes, min, max);
  };
}

/** Bytes, or a percentage of maxmemory such as `25%`. */
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

/** A setting of Redis that supports only one value here. */
export function only(value: string, reason: string): SettingKind {
  return (text) => {
    if (lower(text) !== value) throw new ErrorReply(reason);
    return value;
  };
}

function withinBounds(value: number | bigint, min: number | bigint, max: number | bigint): string {
  if (value >= min && value <= max) return String(value);
  throw new ErrorReply(`argument must be between ${min} and ${max} inclusive`);
}
