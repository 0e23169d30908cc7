import { argumentError, libraryError } from '../error.ts';
import { power } from '../power.ts';
import type { LuaTable } from '../table.ts';
import type { LuaValue, Results } from '../value.ts';
import { NOTHING } from '../value.ts';
import type { Functions } from './arguments.ts';
import { expectInt, expectNumber, makeLibrary } from './arguments.ts';
import { nextRandom, RANDOM_RANGE, seedRandom } from './random.ts';

const DEGREE = Math.PI / 180;

/** Functions of one number. */
const unary = {
  abs: Math.abs,
  acos: Math.acos,
  asin: Math.asin,
  atan: Math.atan,
  ceil: Math.ceil,
  cos: Math.cos,
  cosh: Math.cosh,
  deg: (value) => value / DEGREE,
  exp: Math.exp,
  floor: Math.floor,
  log: Math.log,
  log10: Math.log10,
  rad: (value) => value * DEGREE,
  sin: Math.sin,
  sinh: Math.sinh,
  sqrt: Math.sqrt,
  tan: Math.tan,
  tanh: Math.tanh,
} as const satisfies Record<string, (value: number) => number>;

/** Functions of two numbers. JavaScript's % is C's fmod. */
const binary = {
  atan2: Math.atan2,
  fmod: (a, b) => a % b,
  ldexp: (mantissa, exponent) => scale(mantissa, Math.trunc(exponent)),
  mod: (a, b) => a % b,
  pow: power,
} as const satisfies Record<string, (a: number, b: number) => number>;

const functions: Functions = {
  frexp,
  max: (args) => extreme(args, (value, best) => value > best),
  min: (args) => extreme(args, (value, best) => value < best),
  modf,
  random,
  randomseed: (args) => {
    seedRandom(expectInt(args, 0));
    return NOTHING;
  },
  ...mapFunctions(unary, (run) => (args) => run(expectNumber(args, 0))),
  ...mapFunctions(binary, (run) => (args) => {
    // Compiled C reads the second argument first, which is visible when both are wrong.
    const second = expectNumber(args, 1);
    return run(expectNumber(args, 0), second);
  }),
};

export const mathLibrary: LuaTable = makeLibrary(functions, {
  huge: Number.POSITIVE_INFINITY,
  pi: Math.PI,
});

function mapFunctions<Run>(
  table: Record<string, Run>,
  wrap: (run: Run) => (args: LuaValue[]) => Results,
): Functions {
  return Object.fromEntries(Object.entries(table).map(([name, run]) => [name, wrap(run)]));
}

function extreme(args: LuaValue[], isBetter: (value: number, best: number) => boolean): number {
  let best = expectNumber(args, 0);
  for (let at = 1; at < args.length; at++) {
    const value = expectNumber(args, at);
    if (isBetter(value, best)) best = value;
  }
  return best;
}

function modf(args: LuaValue[]): Results {
  const value = expectNumber(args, 0);
  if (Number.isNaN(value)) return [value, value];
  const whole = Math.trunc(value);
  if (whole === value) return [whole, value < 0 || Object.is(value, -0) ? -0 : 0];
  return [whole, value - whole];
}

/** Multiplies by a power of two in two steps, so that no intermediate result overflows. */
function scale(value: number, exponent: number): number {
  const half = Math.trunc(Math.max(-2200, Math.min(2200, exponent)) / 2);
  const rest = Math.max(-2200, Math.min(2200, exponent)) - half;
  const quarter = Math.trunc(half / 2);
  return (
    value *
    2 ** quarter *
    2 ** (half - quarter) *
    2 ** Math.trunc(rest / 2) *
    2 ** (rest - Math.trunc(rest / 2))
  );
}

function frexp(args: LuaValue[]): Results {
  const value = expectNumber(args, 0);
  if (value === 0 || !Number.isFinite(value)) return [value, 0];
  let exponent = Math.max(-1023, Math.floor(Math.log2(Math.abs(value))) + 1);
  let mantissa = scale(value, -exponent);
  while (Math.abs(mantissa) < 0.5) {
    mantissa *= 2;
    exponent -= 1;
  }
  while (Math.abs(mantissa) >= 1) {
    mantissa /= 2;
    exponent += 1;
  }
  return [mantissa, exponent];
}

function random(args: LuaValue[]): Results {
  const fraction = (nextRandom() % RANDOM_RANGE) / RANDOM_RANGE;
  if (args.length === 0) return fraction;
  if (args.length === 1) {
    const upper = expectInt(args, 0);
    if (upper < 1) throw argumentError(1, 'interval is empty');
    return Math.floor(fraction * upper) + 1;
  }
  if (args.length > 2) throw libraryError('wrong number of arguments');
  const lower = expectInt(args, 0);
  const upper = expectInt(args, 1);
  if (lower > upper) throw argumentError(2, 'interval is empty');
  return Math.floor(fraction * ((upper - lower + 1) | 0)) + lower;
}
