import type { CompletedVerb } from './completion.ts';
import type { Option } from './options.ts';

/** The flags of an option: `--watch`, `-w`. */
export function flagsOf(name: string, { short }: Option): string[] {
  return short === undefined ? [`--${name}`] : [`--${name}`, `-${short}`];
}

/** The values of an option, by its placeholder. Undefined: the option takes no value. */
export function completedValue({
  placeholder,
}: Option): 'file' | 'anything' | readonly string[] | undefined {
  if (placeholder === undefined) return undefined;
  if (FILES.has(placeholder)) return 'file';
  return placeholder.includes('|') ? placeholder.split('|') : 'anything';
}

const FILES: ReadonlySet<string> = new Set(['path', 'file', 'folder']);

/** Whether the verb takes a command after `--`. */
export function takesCommand({ word }: CompletedVerb): boolean {
  return word === 'run';
}
