import type { CompletedVerb } from './completion.ts';
import type { Option } from './options.ts';

/** How an option is written: `--watch`, `-w`. */
export function flagsOf(name: string, { short }: Option): string[] {
  return short === undefined ? [`--${name}`] : [`--${name}`, `-${short}`];
}

/** What the value of an option may be, as its placeholder tells. Undefined: it takes none. */
export function completedValue({
  placeholder,
}: Option): 'file' | 'anything' | readonly string[] | undefined {
  if (placeholder === undefined) return undefined;
  if (FILES.has(placeholder)) return 'file';
  return placeholder.includes('|') ? placeholder.split('|') : 'anything';
}

const FILES: ReadonlySet<string> = new Set(['path', 'file', 'folder']);

/** Whether another command stands after `--`. */
export function takesCommand({ word }: CompletedVerb): boolean {
  return word === 'run';
}
