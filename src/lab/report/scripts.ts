import { type Recipe, type Replay, replay } from '../index.ts';

/** A single client takes far fewer steps than this. */
const MAX_STEPS = 50;
const ALONE = { clients: 1, crashes: 0, pauses: 0, lostReplies: 0, skews: 0, ticks: 20 } as const;

/** The scripts that a recipe sends, by the title in their first line. */
export function scriptsOf({ name, variants }: Recipe): ReadonlyMap<string, string> {
  const lines = variants.flatMap((variant) => sentAlone(name, variant.name));
  const scripts = lines.flatMap((argv) => argv.filter((word) => word.startsWith('-- ')));
  return new Map(scripts.map((script) => [/^-- (.*)\n/.exec(script)?.[1] ?? '', script]));
}

/** The commands of a single client from its first to its last. */
export function sentAlone(recipe: string, variant: string): (readonly string[])[] {
  let run: Replay = replay(recipe, '', { variant, ...ALONE });
  while (run.next.length > 0 && run.trace.length < MAX_STEPS) {
    run = replay(recipe, run.schedule + run.next[0], { variant, ...ALONE });
  }
  return run.trace.flatMap(({ lines }) => lines ?? []);
}
