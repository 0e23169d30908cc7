import { type Recipe, type Replay, replay } from '../index.ts';

/** A client that is alone takes far fewer steps than this. */
const MOST_STEPS = 50;
const ALONE = { clients: 1, crashes: 0, pauses: 0, lostReplies: 0, skews: 0, ticks: 20 } as const;

/** The scripts that a recipe sends, as they were sent, each under the title in its first line. */
export function scriptsOf({ name, variants }: Recipe): ReadonlyMap<string, string> {
  const lines = variants.flatMap((variant) => sentAlone(name, variant.name));
  const scripts = lines.flatMap((argv) => argv.filter((word) => word.startsWith('-- ')));
  return new Map(scripts.map((script) => [/^-- (.*)\n/.exec(script)?.[1] ?? '', script]));
}

/** What one client sends from its first command to its last, when nobody is in its way. */
export function sentAlone(recipe: string, variant: string): (readonly string[])[] {
  let run: Replay = replay(recipe, '', { variant, ...ALONE });
  while (run.next.length > 0 && run.trace.length < MOST_STEPS) {
    run = replay(recipe, run.schedule + run.next[0], { variant, ...ALONE });
  }
  return run.trace.flatMap(({ lines }) => lines ?? []);
}
