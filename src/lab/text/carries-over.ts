import type { Block, Condition, LeaseLength, LoopStatement, Operand, Value } from './tree.ts';

/**
 * Returns true if a pass of the loop, or a line after it, may read a value that an earlier pass assigned.
 * A client that starts again from its first line would lose that value.
 */
export function carriesOver(loop: LoopStatement, behind: Block): boolean {
  const reader = new Reader();
  reader.block(behind, reader.loop(loop, NONE));
  return [...assignedIn([loop])].some((name) => reader.unassigned.has(name));
}

/** Names that are assigned on every path to a line. Undefined: the line is unreachable. */
type Assigned = ReadonlySet<string> | undefined;
const NONE: Assigned = new Set();

/** Visits the lines in order, and collects the variables that are read before the pass assigns them. */
class Reader {
  readonly unassigned = new Set<string>();
  /** The names that are assigned at each `leave the loop` of the innermost loop. */
  #leaves: Assigned[] = [];

  block(block: Block, before: Assigned): Assigned {
    let assigned = before;
    for (const statement of block) {
      if (assigned === undefined) return undefined;
      for (const operand of operandsOf(statement)) this.#read(operand, assigned);
      switch (statement.kind) {
        case 'assign':
          assigned = new Set([...assigned, ...statement.names]);
          break;
        case 'transaction':
          assigned = new Set([...assigned, ...statement.commands.flatMap(({ names }) => names)]);
          break;
        case 'if':
          assigned = both(
            this.block(statement.then, assigned),
            this.block(statement.otherwise, assigned),
          );
          break;
        case 'loop':
          assigned = this.loop(statement, assigned);
          break;
        case 'hold':
          assigned = this.block(statement.body, assigned);
          break;
        case 'leave':
          this.#leaves.push(assigned);
          return undefined;
        case 'stop':
          return undefined;
      }
    }
    return assigned;
  }

  /** Analyses the first pass only: later passes have at least the same names assigned. */
  loop({ ends, body }: LoopStatement, before: Assigned): Assigned {
    const outer = this.#leaves;
    this.#leaves = [];
    if (ends.kind === 'until') {
      for (const operand of inCondition(ends.condition)) this.#read(operand, before);
    }
    this.block(body, before);
    const after = this.#leaves.reduce(both, ends.kind === 'never' ? undefined : before);
    this.#leaves = outer;
    return after;
  }

  #read(operand: Operand, assigned: Assigned): void {
    if (operand.kind === 'variable' && !assigned?.has(operand.name)) {
      this.unassigned.add(operand.name);
    }
  }
}

function both(one: Assigned, other: Assigned): Assigned {
  if (one === undefined || other === undefined) return one ?? other;
  return new Set([...one].filter((name) => other.has(name)));
}

function assignedIn(block: Block): Set<string> {
  const names = block.flatMap((statement): readonly string[] => {
    switch (statement.kind) {
      case 'assign':
        return statement.names;
      case 'transaction':
        return statement.commands.flatMap((command) => command.names);
      case 'if':
        return [...assignedIn([...statement.then, ...statement.otherwise])];
      case 'loop':
      case 'hold':
        return [...assignedIn(statement.body)];
      default:
        return [];
    }
  });
  return new Set(names);
}

/** The operands of the line itself, without those of the lines indented below it. */
function operandsOf(statement: Block[number]): readonly Operand[] {
  switch (statement.kind) {
    case 'do':
    case 'assign':
      return inValue(statement.value);
    case 'transaction':
      return statement.commands.flatMap(({ words }) => words);
    case 'if':
      return inCondition(statement.condition);
    case 'hold':
    case 'extend':
      return inLease(statement.lease);
    default:
      return [];
  }
}

function inCondition(condition: Condition): readonly Operand[] {
  if (condition.kind === 'variant') return [];
  return [...inValue(condition.left), ...inValue(condition.right)];
}

function inValue(value: Value): readonly Operand[] {
  if (value.kind === 'command') return value.words;
  if (value.kind === 'sum') return value.terms.map(({ operand }) => operand);
  return value.fence === undefined ? [] : [value.fence];
}

function inLease(lease: LeaseLength): readonly Operand[] {
  return lease.kind === 'until' ? [lease.end] : [];
}
