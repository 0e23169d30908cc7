import {
  QUORUM_VARIANTS,
  type QuorumSearch,
  type QuorumVariant,
  searchQuorum,
} from '../../lab/index.ts';
import { type Io, print } from '../verb.ts';
import { LIST_OPTIONS, readWords } from './lab-options.ts';

/** The exit code for a verdict that is not the expected one. */
const UNEXPECTED = 3;

/**
 * `holdfast lab quorum`: searches the voting scheme of quorumStore through all interleavings of its messages, and shows
 * what happens without each of its rules. It is no recipe: its nodes are a model, not servers.
 */
export async function showQuorum(args: readonly string[], io: Io, help: string): Promise<number> {
  const { values } = readWords(LIST_OPTIONS, [], args);
  if (values.help) return print(io, help);
  const found = QUORUM_VARIANTS.map((variant) => ({
    variant,
    search: searchQuorum(variant.model),
  }));
  const isExpected = found.every(
    ({ variant, search }) => variant.isBroken === (search.failure !== undefined),
  );
  print(io, values.json ? JSON.stringify(found.map(shown), null, 2) : textOf(found));
  return isExpected ? 0 : UNEXPECTED;
}

interface Found {
  readonly variant: QuorumVariant;
  readonly search: QuorumSearch;
}

function shown({ variant: { name, about }, search: { states, failure } }: Found): object {
  return { name, about, states, failure: failure ?? null };
}

const INTRO = `The voting scheme of quorumStore, with three nodes and two clients, in every order of its messages.
Then the same without one of its rules, each with a shortest schedule that breaks it.`;

function textOf(found: readonly Found[]): string {
  return [INTRO, ...found.map(sectionOf)].join('\n\n');
}

function sectionOf({ variant: { name, about }, search: { states, failure } }: Found): string {
  const head = `${name}: ${about}`;
  if (failure === undefined) return `${head}\n  no failure in ${states} states`;
  const steps = failure.steps.map((step, index) => `  ${String(index + 1).padStart(2)}  ${step}`);
  return [head, ...steps, `  →   ${failure.violation}`].join('\n');
}
