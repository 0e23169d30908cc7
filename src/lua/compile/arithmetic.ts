import type { ArithmeticEvent, OperandNames } from '../operators.ts';
import { arithmetic, modulo } from '../operators.ts';
import { power } from '../power.ts';
import type { CallSite, Frame, LuaValue } from '../value.ts';
import type { Evaluate } from './context.ts';

type Slow = (left: LuaValue, right: LuaValue) => LuaValue;
type Binary = (left: Evaluate, right: Evaluate, slow: Slow) => Evaluate;
type WithConstant = (left: Evaluate, right: number, slow: Slow) => Evaluate;

type ArithmeticOperator = '+' | '-' | '*' | '/' | '%' | '^';

interface Operation {
  readonly event: ArithmeticEvent;
  readonly binary: Binary;
  readonly withConstant: WithConstant;
}

/**
 * Each operator has closures of its own, written out: a closure shared by all operators would call
 * through a variable and see all kinds of operands, and V8 could not specialise it.
 */
const OPERATIONS = {
  '+': {
    event: '__add',
    binary: (left, right, slow) => (frame: Frame) => {
      const a = left(frame);
      const b = right(frame);
      return typeof a === 'number' && typeof b === 'number' ? a + b : slow(a, b);
    },
    withConstant: (left, b, slow) => (frame: Frame) => {
      const a = left(frame);
      return typeof a === 'number' ? a + b : slow(a, b);
    },
  },
  '-': {
    event: '__sub',
    binary: (left, right, slow) => (frame: Frame) => {
      const a = left(frame);
      const b = right(frame);
      return typeof a === 'number' && typeof b === 'number' ? a - b : slow(a, b);
    },
    withConstant: (left, b, slow) => (frame: Frame) => {
      const a = left(frame);
      return typeof a === 'number' ? a - b : slow(a, b);
    },
  },
  '*': {
    event: '__mul',
    binary: (left, right, slow) => (frame: Frame) => {
      const a = left(frame);
      const b = right(frame);
      return typeof a === 'number' && typeof b === 'number' ? a * b : slow(a, b);
    },
    withConstant: (left, b, slow) => (frame: Frame) => {
      const a = left(frame);
      return typeof a === 'number' ? a * b : slow(a, b);
    },
  },
  '/': {
    event: '__div',
    binary: (left, right, slow) => (frame: Frame) => {
      const a = left(frame);
      const b = right(frame);
      return typeof a === 'number' && typeof b === 'number' ? a / b : slow(a, b);
    },
    withConstant: (left, b, slow) => (frame: Frame) => {
      const a = left(frame);
      return typeof a === 'number' ? a / b : slow(a, b);
    },
  },
  '%': {
    event: '__mod',
    binary: (left, right, slow) => (frame: Frame) => {
      const a = left(frame);
      const b = right(frame);
      return typeof a === 'number' && typeof b === 'number' ? modulo(a, b) : slow(a, b);
    },
    withConstant: (left, b, slow) => (frame: Frame) => {
      const a = left(frame);
      return typeof a === 'number' ? modulo(a, b) : slow(a, b);
    },
  },
  '^': {
    event: '__pow',
    binary: (left, right, slow) => (frame: Frame) => {
      const a = left(frame);
      const b = right(frame);
      return typeof a === 'number' && typeof b === 'number' ? power(a, b) : slow(a, b);
    },
    withConstant: (left, b, slow) => (frame: Frame) => {
      const a = left(frame);
      return typeof a === 'number' ? power(a, b) : slow(a, b);
    },
  },
} as const satisfies Record<ArithmeticOperator, Operation>;

export function isArithmetic(operator: string): operator is ArithmeticOperator {
  return Object.hasOwn(OPERATIONS, operator);
}

export function arithmeticEvent(operator: ArithmeticOperator): ArithmeticEvent {
  return OPERATIONS[operator].event;
}

/** Compiles an arithmetic operator; `constant` is the right operand when it is a plain number. */
export function compileArithmetic(
  operator: ArithmeticOperator,
  left: Evaluate,
  right: Evaluate,
  constant: number | undefined,
  site: CallSite,
  names: OperandNames,
): Evaluate {
  const { event, binary, withConstant } = OPERATIONS[operator];
  const slow: Slow = (a, b) => arithmetic(event, a, b, site, names);
  return constant === undefined ? binary(left, right, slow) : withConstant(left, constant, slow);
}
