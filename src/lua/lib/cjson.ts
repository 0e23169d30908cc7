import { argumentError } from '../error.ts';
import type { LuaTable } from '../table.ts';
import type { LuaValue, Results } from '../value.ts';
import { expectInteger, expectString, makeLibrary } from './arguments.ts';
import { decodeJson } from './cjson-decode.ts';
import { encodeJson, JSON_NULL } from './cjson-encode.ts';

/** How one cjson table encodes and decodes; scripts may change it for the rest of their run. */
export interface JsonSettings {
  sparseConvert: boolean;
  sparseRatio: number;
  sparseSafe: number;
  encodeDepth: number;
  decodeDepth: number;
  encodeInvalid: 'off' | 'on' | 'null';
  decodeInvalid: 'off' | 'on' | 'null';
  keepBuffer: boolean;
  precision: number;
}

const DEFAULTS: JsonSettings = {
  sparseConvert: false,
  sparseRatio: 2,
  sparseSafe: 10,
  encodeDepth: 1000,
  decodeDepth: 1000,
  encodeInvalid: 'off',
  decodeInvalid: 'on',
  keepBuffer: true,
  precision: 14,
};

const shared = { ...DEFAULTS };
let isChanged = false;

/** The `cjson` table. */
export const cjsonLibrary: LuaTable = makeCjson(shared);

/** Resets the settings that a script changed, so that they do not affect the next script. */
export function resetCjson(): void {
  if (!isChanged) return;
  Object.assign(shared, DEFAULTS);
  isChanged = false;
}

function makeCjson(settings: JsonSettings): LuaTable {
  return makeLibrary(
    {
      encode: (args) => encodeJson(onlyArgument(args), settings),
      decode: (args) => {
        onlyArgument(args);
        return decodeJson(expectString(args, 0), settings);
      },
      encode_sparse_array: (args) => sparseArray(args, settings),
      encode_max_depth: (args) => integerSetting(args, settings, 'encodeDepth', MAX_INT),
      decode_max_depth: (args) => integerSetting(args, settings, 'decodeDepth', MAX_INT),
      encode_number_precision: (args) => integerSetting(args, settings, 'precision', 14),
      encode_keep_buffer: (args) => {
        tooMany(args, 1);
        if (args[0] !== undefined) settings.keepBuffer = readSwitch(args, 0, BOOLEAN) === 'on';
        return settings.keepBuffer;
      },
      encode_invalid_numbers: (args) => invalidNumbers(args, settings, 'encodeInvalid', ENCODE),
      decode_invalid_numbers: (args) => invalidNumbers(args, settings, 'decodeInvalid', BOOLEAN),
      new: () => makeCjson({ ...DEFAULTS }),
    },
    { null: JSON_NULL, _NAME: 'cjson', _VERSION: '2.1.0' },
  );
}

const MAX_INT = 2147483647;
const BOOLEAN = ['off', 'on'] as const;
const ENCODE = ['off', 'on', 'null'] as const;

function onlyArgument(args: LuaValue[]): LuaValue {
  if (args.length !== 1) throw argumentError(1, 'expected 1 argument');
  return args[0];
}

/** Throws if there are too many arguments. All functions that may change a setting call this. */
function tooMany(args: LuaValue[], most: number): void {
  isChanged = true;
  if (args.length > most) throw argumentError(most + 1, 'found too many arguments');
}

function readInteger(args: LuaValue[], at: number, least: number, most: number): number {
  const value = expectInteger(args, at);
  if (value < least || value > most) {
    // cjson always reports its first argument.
    throw argumentError(1, `expected integer between ${least} and ${most}`);
  }
  return value;
}

function integerSetting(
  args: LuaValue[],
  settings: JsonSettings,
  name: 'encodeDepth' | 'decodeDepth' | 'precision',
  most: number,
): Results {
  tooMany(args, 1);
  if (args[0] !== undefined) settings[name] = readInteger(args, 0, 1, most);
  return settings[name];
}

/** A boolean, or one of the words. */
function readSwitch<Word extends string>(
  args: LuaValue[],
  at: number,
  words: readonly Word[],
): Word | 'on' | 'off' {
  const value = args[at];
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  const text = expectString(args, at);
  const word = words.find((candidate) => candidate === text);
  if (word === undefined) throw argumentError(at + 1, `invalid option '${text}'`);
  return word;
}

function invalidNumbers(
  args: LuaValue[],
  settings: JsonSettings,
  name: 'encodeInvalid' | 'decodeInvalid',
  words: readonly ('off' | 'on' | 'null')[],
): Results {
  tooMany(args, 1);
  if (args[0] !== undefined) settings[name] = readSwitch(args, 0, words);
  return settings[name] === 'null' ? 'null' : settings[name] === 'on';
}

function sparseArray(args: LuaValue[], settings: JsonSettings): Results {
  tooMany(args, 3);
  if (args[0] !== undefined) settings.sparseConvert = readSwitch(args, 0, BOOLEAN) === 'on';
  if (args[1] !== undefined) settings.sparseRatio = readInteger(args, 1, 0, MAX_INT);
  if (args[2] !== undefined) settings.sparseSafe = readInteger(args, 2, 0, MAX_INT);
  return [settings.sparseConvert, settings.sparseRatio, settings.sparseSafe];
}
